"""Draw a check as one SVG picture: a row for each function, with its value and its derivative along an input.

READMEs, wikis and pull requests show such a file as it is. The pictures are those of the HTML report.
"""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.check_text import tally
from slangad.compiler.report.html_slice import HEIGHT, WIDTH, slice_pictures
from slangad.compiler.report.html_text import html
from slangad.compiler.report.words import name_of, titled, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.report.model import Report, Result, Slice

MOST_ROWS: Final = 12
"""Functions that are drawn, the worst first. Larger: larger files."""
MOST_SLICES: Final = 3
"""Inputs along which a function is drawn, if it is the only one."""
_EDGE, _GAP = 16, 24
_LINE: Final = 18
_LETTERS: Final = 130
"""Characters in a line of text."""
_COLORS: Final = {"good": "#18794e", "warn": "#8a5a00", "bad": "#c02626"}
_STYLE: Final = """
text { fill: #57554e; font: 12px system-ui, sans-serif; }
.name { fill: #14130f; font-weight: 650; font-size: 14px; }
.grid { stroke: #dedcd3; } .axis { stroke: #6e6b62; }
path { fill: none; stroke-width: 2; } path.value { stroke: #14130f; }
path.expected { stroke: #1f6fd0; stroke-width: 5; stroke-opacity: .45; } path.found { stroke: #c2410c; }
path.interval { stroke: #1f6fd0; stroke-width: 3; } path.gap { fill: #c02626; fill-opacity: .13; }
path.rug { stroke: #6e6b62; stroke-width: 1; stroke-opacity: .7; }
path.rug.wrong { stroke: #c02626; stroke-opacity: 1; }
.dot { fill: #fff; stroke-width: 2; stroke: #14130f; }
.dot.found { stroke: #c2410c; } .dot.expected { stroke: #1f6fd0; }
"""
_KEY: Final = "Orange: the derivative that the code gives. Blue: the slope of the function, or the declared one."


def svg_picture(report: Report) -> str:
    """Return the report as an SVG picture on white, 936 units wide, with all colours in it."""
    ordered = worst_first(report)
    most = MOST_SLICES if len(ordered) == 1 else 1
    pieces, y = [], float(_EDGE)
    for result in ordered[:MOST_ROWS]:
        for piece, height in _row(result, most, y):
            pieces.append(piece)
            y += height
        y += _LINE
    rest = f"{len(ordered) - MOST_ROWS} more functions; " if len(ordered) > MOST_ROWS else ""
    pieces.append(_text(_EDGE, y + _LINE / 2, f"{rest}{tally(report)}. {_KEY}"))
    width, height = 2 * WIDTH + _GAP + 2 * _EDGE, round(y + 2 * _LINE)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{html(tally(report))}</title><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(pieces)}</svg>\n'
    )


def _row(result: Result, most: int, y: float) -> Iterator[tuple[str, float]]:
    """Yield pieces of a function's row, each with its height: its name and verdict, what is wrong, its pictures."""
    css = "good" if result.verdict.good else "bad" if result.verdict.bad else "warn"
    name, verdict = html(titled(name_of(result), result.kind)), result.verdict.value.replace("_", " ")
    verdict = f'<tspan fill="{_COLORS[css]}" dx="10">{verdict}</tspan>'
    yield f'<text class="name" x="{_EDGE}" y="{y + _LINE / 2}">{name}{verdict}</text>', _LINE
    y += _LINE
    messages = [failure.message for failure in result.shown_failures] or [result.reason]
    for line in (line for message in messages for line in wrap(message, _LETTERS)):
        yield _text(_EDGE, y + _LINE / 2, line), _LINE
        y += _LINE
    right = _EDGE + WIDTH + _GAP
    drawn = 0
    for part in sorted(result.slices, key=_bend, reverse=True):
        pair = slice_pictures(part, result) if drawn < most else None
        if pair is None:
            continue
        names = f"{part.row} along {part.column}", f"d {part.row} / d {part.column}"
        yield "".join(_text(x, y + _LINE / 2, name) for x, name in zip((_EDGE, right), names, strict=True)), _LINE
        y += _LINE
        yield "".join(_placed(svg, x, y) for x, svg in zip((_EDGE, right), pair, strict=True)), HEIGHT
        y += HEIGHT
        drawn += 1


def _bend(part: Slice) -> float:
    """Return how much of its size the derivative varies along a slice, in tenths: more of it is worth a picture."""
    slopes = [slope for slope in part.found if math.isfinite(slope)]
    size = max(map(abs, slopes), default=0.0)
    return round((max(slopes) - min(slopes)) / size, 1) if size and math.isfinite(2.0 * size) else 0.0


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}">{html(text)}</text>'


def _placed(svg: str, x: float, y: float) -> str:
    """Return a picture at a place in another."""
    return svg.replace("<svg ", f'<svg x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" ', 1)
