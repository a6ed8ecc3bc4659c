"""Draw the losses of a training as an SVG picture, without other packages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH: Final = 640
_HEIGHT: Final = 300
_LEFT: Final = 78
_RIGHT: Final = 12
_TOP: Final = 14
_BOTTOM: Final = 40
_MOST_POINTS: Final = 600
"""The number of points in a curve. Larger: larger files, with points less than a pixel apart."""


def loss_svg(losses: Sequence[float]) -> str:
    """Return the losses of a training as an SVG picture; the scale is logarithmic if all of them are positive."""
    shown = [(step, loss) for step, loss in enumerate(losses) if math.isfinite(loss)]
    logarithmic = bool(shown) and min(loss for _, loss in shown) > 0.0
    points = [(step, math.log10(loss) if logarithmic else loss) for step, loss in shown]
    low, high = _range([value for _, value in points])
    last = max(1, len(losses) - 1)
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" role="img">',
        "<title>loss by step</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
    ]
    for value in _ticks(low, high, logarithmic=logarithmic):
        y, label = _y(value, low, high), f"{10.0**value if logarithmic else value:.3g}"
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#333">{label}</text>')
    for step in sorted({0, last // 2, last}):
        x, anchor = _x(step, last), "end" if step == last else "middle"
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 22}" text-anchor="{anchor}" fill="#333">{step}</text>')
    path = " ".join(f"{_x(step, last):.1f},{_y(value, low, high):.1f}" for step, value in _thinned(points))
    parts += [
        f'<polyline points="{path}" fill="none" stroke="#0550ae" stroke-width="1.4"/>',
        f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle" fill="#333">step</text>',
        f'<text transform="translate(14 {_HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle" fill="#333">loss</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    margin = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    return low - margin, high + margin


def _ticks(low: float, high: float, *, logarithmic: bool) -> list[float]:
    """Return about five values to mark: integer powers of ten if there are some, else round numbers."""
    powers = [float(n) for n in range(math.ceil(low), math.floor(high) + 1)]
    if logarithmic and len(powers) > 1:
        return powers[:: max(1, len(powers) // 5)]
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _thinned(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return at most ``_MOST_POINTS`` points: of equal parts of the curve the lowest and the highest, in order."""
    if len(points) <= _MOST_POINTS:
        return [*points]
    size = -(-len(points) * 2 // _MOST_POINTS)
    parts = (points[start : start + size] for start in range(0, len(points), size))
    ends = ({min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])} for part in parts)
    return [point for part in ends for point in sorted(part)]


def _x(step: float, last: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * step / last


def _y(value: float, low: float, high: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)
