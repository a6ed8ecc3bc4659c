"""Draw slices through a function as SVG: its value along one input, and its derivative, found and expected.

Where a function has a kink, each slope between those on its two sides is right: a bar shows that interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.figures import shown
from slangad.compiler.report.html_text import html
from slangad.compiler.report.model import SampleState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.report.model import Result, Slice

WIDTH: Final = 440
HEIGHT: Final = 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 40
TICKS: Final = 5
"""Labels of an axis, at most about twice as many."""
KINK: Final = 0.01
"""Share of the height of the picture by which the slopes on the two sides of a kink differ, at least."""
OUTLIERS: Final = 8.0
"""A curve is cut off if its range is this many times the range of nine tenths of its values."""
FLAT: Final = 0.02
"""Share of its size by which a curve varies at least to fill its picture."""
MOST_TICKS: Final = 200
"""Samples that are drawn below a picture. Larger: larger pages."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Numbers from ``low`` to ``high`` over pixels from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a number; what lies outside goes to the edge."""
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves: the range of floats may overflow
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    def shows(self, value: float) -> bool:
        """Return True if a number lies on the axis."""
        return math.isfinite(value) and self.low <= value <= self.high

    @property
    def ticks(self) -> list[float]:
        """The round numbers that get a label."""
        rough = (self.high - self.low) / TICKS
        if not math.isfinite(rough) or rough <= 0.0:
            return [self.low, self.high]
        power = 10.0 ** math.floor(math.log10(rough))
        step = next((nice * power for nice in (1.0, 2.0, 5.0, 10.0) if nice * power >= rough), rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)] if step > 0.0 else [self.low, self.high]


def slice_figure(part: Slice, result: Result) -> str:
    """Return two pictures side by side, the function and its derivative, with a caption each; empty without numbers."""
    across = _axis(part.positions, LEFT, WIDTH - RIGHT, margin=0.0)
    if across is None or not any(map(math.isfinite, part.values)):
        return ""
    samples = _samples(part, result)
    others = " All other inputs keep the values of that sample." if _has_others(part, result) else ""
    wrong = any(ticks for css, ticks in samples if css == "wrong")
    value = _value_svg(part, across)
    slope = _slope_svg(part, across, samples)
    ticks = (
        " Each tick below is a sample" + (", red where the derivative is wrong." if wrong else ".") if samples else ""
    )
    name = f"d {part.row} / d {part.column}"
    row, column = html(part.row), html(part.column)
    kinks = " The bar is a kink: the slope changes at once there, and each value in the bar is right."
    return (
        f'<div class="slice"><figure><h4>Value: {row} along {column}</h4><p class="keys"></p>{value}'
        f"<figcaption>The circle is sample {part.sample}, at {column} = {shown(part.at, 4)}.{others}"
        "</figcaption></figure>"
        f'<figure><h4>Slope: {html(name)}</h4><p class="keys"><span class="key expected">expected, measured on the '
        f'function</span><span class="key found">found, by the derivative code</span></p>{slope}'
        f"<figcaption>{'The two lines of a right derivative coincide.' if slope else 'No slope is finite.'}"
        f"{kinks if 'interval' in slope else ''}{ticks}"
        "</figcaption></figure></div>"
    )


def slice_pictures(part: Slice, result: Result) -> tuple[str, str] | None:
    """Return the function and its derivative as an SVG element each; None without numbers."""
    across = _axis(part.positions, LEFT, WIDTH - RIGHT, margin=0.0)
    if across is None or not any(map(math.isfinite, part.values)):
        return None
    slope = _slope_svg(part, across, _samples(part, result))
    return (_value_svg(part, across), slope) if slope else None


def _has_others(part: Slice, result: Result) -> bool:
    sample = next((one for one in result.samples if one.number == part.sample), None)
    return sample is not None and len(sample.inputs) > 1


def _samples(part: Slice, result: Result) -> list[tuple[str, list[float]]]:
    """Return the values that samples have for the input, right ones first, then wrong ones."""
    good: list[float] = []
    wrong: list[float] = []
    for sample in result.samples:
        for value in sample.inputs:
            if value.path == part.column:
                (wrong if sample.state is SampleState.WRONG else good).append(float(value.value))
    return [(css, some[:MOST_TICKS]) for css, some in (("sample", good), ("wrong", wrong)) if some]


def _axis(values: Iterable[float], start: float, end: float, *, margin: float = 0.08) -> _Axis | None:
    """Return an axis for all finite numbers but rare, far larger ones; None if no number is finite."""
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite:
        return None
    low, high = finite[0], finite[-1]
    tail = len(finite) // 20
    usual = finite[-1 - tail] - finite[tail]
    if margin and usual > 0.0 and high - low > OUTLIERS * usual:
        low, high = max(low, finite[tail] - usual), min(high, finite[-1 - tail] + usual)
    least = max(abs(low), abs(high)) * FLAT or 1.0
    if high - low < least:
        low, high = low - least, high + least
    room = (high - low) * margin
    wider = _Axis(low - room, high + room, start, end)
    return wider if math.isfinite(wider.low) and math.isfinite(wider.high) else _Axis(low, high, start, end)


def _value_svg(part: Slice, across: _Axis) -> str:
    up = _axis(part.values, HEIGHT - BOTTOM, TOP)
    assert up is not None  # noqa: S101  (asked for by the caller)
    pieces = [
        *_grid(across, up, part.column),
        *_lines("value", zip(part.positions, part.values, strict=True), across, up),
    ]
    here = _at_sample(part, part.values)
    if here is not None and up.shows(here):
        label = f"sample {part.sample}: {part.column} = {shown(part.at, 6)}, {part.row} = {shown(here, 6)}"
        pieces.append(_circle("value", across.at(part.at), up.at(here), label))
    return _svg(pieces, f"{part.row} along {part.column}")


def _slope_svg(part: Slice, across: _Axis, samples: Sequence[tuple[str, Sequence[float]]]) -> str:
    slopes = (*part.found, *part.below, *part.above)
    up = _axis(slopes, HEIGHT - BOTTOM, TOP)
    name = f"d {part.row} / d {part.column}"
    if up is None:
        return ""
    sides = zip(part.positions, part.below, part.above, strict=True)
    expected = [(x, y) for x, *both in sides for y in both]
    pieces = [
        *_grid(across, up, part.column),
        *_gap(part, across, up),
        *_lines("expected", expected, across, up),
        *_lines("found", zip(part.positions, part.found, strict=True), across, up),
        *_kinks(part, across, up),
        *_rug(samples, across),
    ]
    for css, numbers in (("expected", part.above), ("expected", part.below), ("found", part.found)):
        here = _at_sample(part, numbers)
        if here is not None and up.shows(here):
            label = f"sample {part.sample}: {css} {shown(here, 6)}"
            pieces.append(_circle(css, across.at(part.at), up.at(here), label))
    return _svg(pieces, f"{name}: found and expected")


def _svg(pieces: Iterable[str], name: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html(name)}">{"".join(pieces)}</svg>'


def _at_sample(part: Slice, numbers: Sequence[float]) -> float | None:
    return next((y for x, y in zip(part.positions, numbers, strict=True) if x == part.at), None)


def _circle(css: str, x: float, y: float, label: str) -> str:
    return f'<circle class="dot {css}" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{html(label)}</title></circle>'


def _grid(across: _Axis, up: _Axis, name: str) -> Iterator[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for value in up.ticks:
        y = up.at(value)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{_label(value, up)}</text>'
    for value in across.ticks:
        x = across.at(value)
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{_label(value, across)}</text>'
    yield f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
    title = html(name if len(name) <= 40 else f"{name[:39]}…")
    yield f'<text x="{(LEFT + right) / 2:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{title}</text>'


def _label(value: float, axis: _Axis) -> str:
    """Return a tick's number, without the rounding of its computation."""
    return "0" if abs(value) < 1e-9 * (axis.high - axis.low) else shown(float(f"{value:.10g}"), 4)


def _lines(css: str, points: Iterable[tuple[float, float]], across: _Axis, up: _Axis) -> Iterator[str]:
    """Yield lines through the points, broken where a number is not finite or not on the axis."""
    line: list[str] = []
    for x, y in [*points, (0.0, math.nan)]:
        if up.shows(y):
            place = f"{across.at(x):.1f} {up.at(y):.1f}"
            if not line or line[-1] != place:
                line.append(place)
            continue
        if len(line) > 1:
            yield f'<path class="{css}" d="M{" L".join(line)}"/>'
        line = []


def _gap(part: Slice, across: _Axis, up: _Axis) -> Iterator[str]:
    """Yield the areas between found and expected slopes that differ."""
    visible = (up.high - up.low) * KINK
    above: list[str] = []
    below: list[str] = []
    wrong = False
    for x, found, *sides in [
        *zip(part.positions, part.found, part.below, part.above, strict=True),
        (0.0, *[math.nan] * 3),
    ]:
        if up.shows(found) and all(map(up.shows, sides)):
            nearest = min(max(found, min(sides)), max(sides))
            wrong = wrong or abs(found - nearest) > visible
            above.append(f"{across.at(x):.1f} {up.at(found):.1f}")
            below.append(f"{across.at(x):.1f} {up.at(nearest):.1f}")
            continue
        if wrong and len(above) > 1:
            yield f'<path class="gap" d="M{" L".join([*above, *reversed(below)])}Z"/>'
        above, below, wrong = [], [], False


def _kinks(part: Slice, across: _Axis, up: _Axis) -> Iterator[str]:
    """Yield a bar with ends for each position where the slopes on the two sides differ."""
    least = (up.high - up.low) * KINK
    for x, below, above in zip(part.positions, part.below, part.above, strict=True):
        if not (up.shows(below) and up.shows(above)) or abs(above - below) < least:
            continue
        at, low, high = across.at(x), up.at(below), up.at(above)
        slopes = f"from {shown(min(below, above), 6)} to {shown(max(below, above), 6)}"
        label = f"kink at {part.column} = {shown(x, 6)}: {slopes}"
        ends = f"M{at - 5:.1f} {low:.1f}h10M{at:.1f} {low:.1f}V{high:.1f}M{at - 5:.1f} {high:.1f}h10"
        yield f'<path class="interval" d="{ends}"><title>{html(label)}</title></path>'


def _rug(samples: Sequence[tuple[str, Sequence[float]]], across: _Axis) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    for css, values in samples:
        places = sorted({f"{across.at(value):.0f}" for value in values if across.shows(value)})
        if places:
            yield f'<path class="rug {css}" d="{"".join(f"M{x} {bottom}v-7" for x in places)}"/>'
