"""Draw a Jacobian as three tables with coloured cells: found, expected and difference.

Numbers stand in the cells, so that colour says nothing alone. An entry at a kink is expected in an interval, and its
difference is the distance from that. Of a large Jacobian the part around one entry is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.figures import exact, shown
from slangad.compiler.report.html_text import html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slangad.compiler.report.model import Jacobian

MOST_ROWS: Final = 16
MOST_COLUMNS: Final = 12
FAINT: Final = 1e-6
"""Share of the largest derivative for which a difference has the strongest colour, at least. Larger: paler rounding."""

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """The rows and columns that are shown, and the entry that is marked."""

    rows: range
    columns: range
    entry: tuple[int, int] | None


def heat_maps(jacobian: Jacobian, row: str, column: str) -> str:
    """Return maps of the found and expected entries and their difference, one entry marked. Empty without entries."""
    if not jacobian.rows or not jacobian.columns:
        return ""
    window = _window(jacobian, row, column)
    scale = _largest((*jacobian.found, *jacobian.expected, *jacobian.low, *jacobian.high))
    difference = _differences(jacobian)
    maps = (
        _figure("found", jacobian, jacobian.found, scale, window),
        _figure("expected", jacobian, jacobian.expected, scale, window, intervals=bool(jacobian.low)),
        _figure("difference", jacobian, difference, max(_largest(difference), scale * FAINT), window),
    )
    return f'<div class="maps">{"".join(maps)}</div>' + _left_out(jacobian, window)


def _window(jacobian: Jacobian, row: str, column: str) -> Window:
    entry = None
    if row in jacobian.rows and column in jacobian.columns:
        entry = jacobian.rows.index(row), jacobian.columns.index(column)
    at = entry or (0, 0)
    rows = _around(at[0], len(jacobian.rows), MOST_ROWS)
    return Window(rows, _around(at[1], len(jacobian.columns), MOST_COLUMNS), entry)


def _around(at: int, count: int, most: int) -> range:
    start = max(0, min(at - most // 2, count - most))
    return range(start, min(count, start + most))


def _largest(matrix: Matrix) -> float:
    """Return the largest finite size, 1 if there is none but 0."""
    return max((abs(value) for row in matrix for value in row if math.isfinite(value)), default=0.0) or 1.0


def _differences(jacobian: Jacobian) -> Matrix:
    """Return found minus expected; at kinks minus the nearest right value."""
    if not jacobian.low:
        return jacobian.difference

    def distance(row: int, column: int, difference: float) -> float:
        low, high, found = (part[row][column] for part in (jacobian.low, jacobian.high, jacobian.found))
        return found - min(max(found, low), high) if low <= high else difference

    return tuple(
        tuple(distance(row, column, difference) for column, difference in enumerate(differences))
        for row, differences in enumerate(jacobian.difference)
    )


def _figure(
    name: str, jacobian: Jacobian, matrix: Matrix, scale: float, window: Window, *, intervals: bool = False
) -> str:
    head = "".join(f'<th scope="col">{html(jacobian.columns[number])}</th>' for number in window.columns)
    cell = _cells(scale, window, jacobian if intervals else None)
    body = "".join(_row(number, jacobian, matrix[number], cell, window) for number in window.rows)
    table = f'<table class="map"><thead><tr><td class="corner" style="background:none"></td>{head}</tr></thead>'
    return (
        f"<figure><figcaption>{name}, colour to ±{shown(scale, 3)}</figcaption>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">{table}<tbody>{body}</tbody></table></div>'
        "</figure>"
    )


def _row(
    number: int, jacobian: Jacobian, values: tuple[float, ...], cell: Callable[[int, int, float], str], window: Window
) -> str:
    cells: Iterable[str] = (cell(number, column, values[column]) for column in window.columns)
    return f'<tr><th scope="row">{html(jacobian.rows[number])}</th>{"".join(cells)}</tr>'


def _cells(scale: float, window: Window, kinks: Jacobian | None) -> Callable[[int, int, float], str]:
    """Return the function that makes a cell from row, column and value; with intervals from the kinks of a Jacobian."""

    def cell(row: int, column: int, value: float) -> str:
        wrong = " wrong" if (row, column) == window.entry else ""
        if kinks is not None and kinks.low[row][column] <= kinks.high[row][column]:
            low, high = kinks.low[row][column] + 0.0, kinks.high[row][column] + 0.0
            title = f"a kink: each value from {exact(low)} to {exact(high)} is right"
            return f'<td class="kink{wrong}" title="{title}">{shown(low, 3)} … {shown(high, 3)}</td>'
        text = f'title="{exact(value)}">{shown(value + 0.0, 4)}</td>'
        if not math.isfinite(value):
            return f'<td class="odd{wrong}" {text}'
        share = abs(value) / scale if scale >= 1.0 or abs(value) <= scale else 1.0
        return f'<td class="{"low" if value < 0 else "high"}{wrong}" style="--v:{share:.3f}" {text}'

    return cell


def _left_out(jacobian: Jacobian, window: Window) -> str:
    whole = len(jacobian.rows), len(jacobian.columns)
    if (len(window.rows), len(window.columns)) == whole:
        return ""
    part = f"{len(window.rows)} of {whole[0]} rows and {len(window.columns)} of {whole[1]} columns"
    return f'<p class="faint">{part} are shown; the JSON report has all.</p>'
