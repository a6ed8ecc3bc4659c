"""Show the source of a checked function with line numbers, the statement that is likely wrong marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.report.html_text import html
from slangad.compiler.report.text import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.report.model import Result

MOST_LINES: Final = 40
"""Lines of a function that are shown. Larger: longer pages."""
AROUND: Final = 3
"""Lines that are shown before and after a statement outside the function."""
_CLOSERS: Final = ("}", ")", "]", "{")
_MARKERS: Final = ("@", "[")
"""Beginnings of lines above a function that belong to it: decorators and attributes."""


def source_of(result: Result) -> str:
    """Return the lines of the function, and those around marked statements elsewhere; empty without the file."""
    lines = read_lines(result.span.file) if result.span.file and result.span.line else None
    if not lines or result.span.line > len(lines):
        return ""
    marked = {one.span.line for one in result.failures if one.span.line and one.span.file == result.span.file}
    numbers = list(_numbers_of_function(lines, result.span.line))
    for line in sorted(marked):
        if line not in numbers and line <= len(lines):
            function = list(_numbers_of_function(lines, _head_of(lines, line)))
            around = range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1)
            numbers += [number for number in (function if line in function else around) if number not in numbers]
    text = "".join(_rows(lines, sorted(numbers), marked))
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Source"><pre class="source">{text}</pre></div>'


def _numbers_of_function(lines: Sequence[str], start: int) -> Iterator[int]:
    """Yield the numbers of the lines from a function's first line to the last that is indented more, or closes it."""
    first = start
    while first > 1 and lines[first - 2].strip().startswith(_MARKERS):
        first -= 1
    yield from range(first, start + 1)
    indent = _indent(lines[start - 1])
    last = start
    for number in range(start + 1, min(len(lines), start + MOST_LINES) + 1):
        text = lines[number - 1]
        if text.strip():
            if _indent(text) <= indent and not text.strip().startswith(_CLOSERS):
                break
            last = number
    yield from range(start + 1, last + 1)


def _head_of(lines: Sequence[str], line: int) -> int:
    """Return the number of the line that begins the function of a statement: the nearest that is not indented."""
    return next((number for number in range(line, 0, -1) if lines[number - 1][:1].strip(" \t{}#")), line)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _rows(lines: Sequence[str], numbers: Sequence[int], marked: set[int]) -> Iterator[str]:
    before = None
    for number in numbers:
        if before is not None and number > before + 1:
            yield '<span class="line"><i>⋮</i></span>'
        before = number
        css = "line marked" if number in marked else "line"
        yield f'<span class="{css}"><i>{number}</i>{html(lines[number - 1].rstrip())}\n</span>'
