"""Draw the error over the step size of a ``Curve`` as SVG, with logarithmic axes.

Differences of a smooth function come nearer to its derivative as the step shrinks, until rounding takes over. Their
distance from a right derivative therefore falls; from a wrong one it stays where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.figures import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.report.model import Curve

WIDTH: Final = 544
HEIGHT: Final = 300
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 14, 42
MOST_TICKS: Final = 7

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis: powers of ten from ``low`` to ``high`` over pixels from ``start`` to ``end``."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a positive number; what lies outside goes to the edge."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    @property
    def ticks(self) -> range:
        """The powers of ten that get a label."""
        return range(self.low, self.high + 1, max(1, math.ceil((self.high - self.low) / MOST_TICKS)))


def curve_svg(curve: Curve, expected: float | None, found: float | None, name: str) -> str:
    """Return a plot of the distances of the estimates from the value found and the expected one; empty if none fits."""
    distances = {"found": curve.errors}
    if expected is not None:
        distances["expected"] = tuple(abs(estimate - expected) for estimate in curve.estimates)
    series = {css: _points(curve.steps, errors) for css, errors in distances.items()}
    everything = [point for points in series.values() for point in points]
    if not everything:
        return ""
    gap = abs(found - expected) if found is not None and expected is not None else 0.0
    heights = [y for _, y in everything] + ([gap] if _positive(gap) else [])
    across = _axis(filter(_positive, curve.steps), LEFT, WIDTH - RIGHT)
    up = _axis(heights, HEIGHT - BOTTOM, TOP)
    parts = [*_grid(across, up), *(_reference(up, gap) if _positive(gap) else ())]
    for css, points in reversed(series.items()):
        parts += _series(css, points, across, up)
        parts += _zeros(css, curve.steps, distances[css], across)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}: error over step size, both logarithmic">'
        + "".join(parts)
        + "</svg>"
    )


def _positive(value: float) -> bool:
    return value > 0.0 and math.isfinite(value)


def _points(steps: Sequence[float], errors: Sequence[float]) -> list[Point]:
    """Return those a logarithmic axis can show."""
    return [(x, y) for x, y in zip(steps, errors, strict=False) if _positive(x) and _positive(y)]


def _axis(values: Iterable[float], start: float, end: float) -> Axis:
    powers = [math.log10(value) for value in values]
    low, high = math.floor(min(powers)), math.ceil(max(powers))
    return Axis(low, max(high, low + 1), start, end)


def _grid(across: Axis, up: Axis) -> Iterable[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for power in up.ticks:
        y = up.at(10.0**power) if power > -308 else up.start
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>'
    for power in across.ticks:
        x = across.at(10.0**power) if power > -308 else across.start
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{_power(power)}</text>'
    yield f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
    yield f'<text x="{(LEFT + right) / 2:.1f}" y="{HEIGHT - 5}" text-anchor="middle">step</text>'
    yield f'<text transform="translate(12 {(TOP + bottom) / 2:.1f}) rotate(-90)" text-anchor="middle">error</text>'


def _reference(up: Axis, gap: float) -> Iterable[str]:
    y = up.at(gap)
    below = y + 15 if y < TOP + 24 else y - 7
    yield f'<line class="reference" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
    yield f'<text x="{LEFT + 6}" y="{below:.1f}">found is {shown(gap, 3)} from expected</text>'


def _series(css: str, points: Sequence[Point], across: Axis, up: Axis) -> Iterable[str]:
    places = [(across.at(x), up.at(y)) for x, y in points]
    if len(places) > 1:
        yield f'<path class="{css}" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}"/>'
    for (x, y), (step, error) in zip(places, points, strict=True):
        label = f"step {shown(step, 3)}: {shown(error, 3)} from {css}"
        yield f'<circle class="dot {css}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{label}</title></circle>'


def _zeros(css: str, steps: Sequence[float], errors: Sequence[float], across: Axis) -> Iterable[str]:
    """Yield triangles at the lower end of the logarithmic axis, for distances of exactly 0."""
    bottom = HEIGHT - BOTTOM
    for step, error in zip(steps, errors, strict=False):
        if error == 0.0 and _positive(step):
            x = across.at(step)
            label = f"step {shown(step, 3)}: exactly {css}"
            shape = f"M{x - 4:.1f} {bottom - 9} h8 l-4 7 Z"
            yield f'<path class="zero {css}" d="{shape}"><title>{label}</title></path>'


def _power(power: int) -> str:
    return f"1e{power}"
