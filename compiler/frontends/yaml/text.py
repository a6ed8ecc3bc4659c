"""Map characters of a scalar's text to characters of its file, for every style of scalar.

A body may be in a block (``|``, ``>``), in quotes with escapes, or plain; errors inside it point at the character
of the file. The text of a scalar is its source without indentation, folding, quotes and escapes; all that YAML adds
or takes away is white space, so that aligning the other characters in order is exact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_WHITE: Final = frozenset(" \t\n\r\x85\u2028\u2029")
_ESCAPES: Final = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX_ESCAPES: Final = {"x": 2, "u": 4, "U": 8}

Unit = tuple[str, int, int]
"""A character and its range in the source."""


def line_starts(text: str) -> tuple[int, ...]:
    """Return the index of the first character of every line."""
    return (0, *(match.end() for match in _LINE_END.finditer(text)))


def character_ranges(source: str, start: int, end: int, style: str, text: str) -> tuple[tuple[int, int], ...]:
    """Return the range in the source of every character of a scalar's text, and of its end.

    Args:
        source: The file's text.
        start: Index of the scalar's first character there, quote or block indicator included.
        end: Index after its last one.
        style: Its style.
        text: Its text.
    """
    units = list(_units(source, start, end, style))
    result: list[tuple[int, int]] = []
    at = 0
    for character in text:
        if character not in _WHITE:
            while at < len(units) and units[at][0] != character:
                at += 1
        if at == len(units):
            result.append((end, end))
        elif units[at][0] == character:
            result.append(units[at][1:])
            at += 1
        else:
            result.append((units[at][1], units[at][1]))
    last = result[-1][1] if result else start
    return (*_indented(source, text, result), (last, last))


def _indented(source: str, text: str, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges with white space next to the character that follows it, if the source has it there."""
    for at in range(len(text) - 1, 0, -1):
        start = ranges[at][0]
        if text[at - 1] in " \t" and start > 0 and source[start - 1] == text[at - 1]:
            ranges[at - 1] = (start - 1, start)
    return ranges


def _units(source: str, start: int, end: int, style: str) -> Iterator[Unit]:
    match style:
        case "double":
            return _double_quoted(source, start + 1, end - 1)
        case "single":
            return _single_quoted(source, start + 1, end - 1)
        case "literal" | "folded":
            header = _LINE_END.search(source, start, end)
            return _as_written(source, header.end() if header else end, end)
        case _:
            return _as_written(source, start, end)


def _as_written(source: str, start: int, end: int) -> Iterator[Unit]:
    return ((source[i], i, i + 1) for i in range(start, end))


def _single_quoted(source: str, start: int, end: int) -> Iterator[Unit]:
    at = start
    while at < end:
        width = 2 if source.startswith("''", at) else 1
        yield source[at], at, at + width
        at += width


def _double_quoted(source: str, start: int, end: int) -> Iterator[Unit]:
    at = start
    while at < end:
        character, width = source[at], 1
        if character == "\\" and at + 1 < end:
            character, width = _escape(source, at)
        if character:
            yield character, at, at + width
        at += width


def _escape(source: str, at: int) -> tuple[str, int]:
    """Return the text of an escape and its length; an escaped line break has no text."""
    letter = source[at + 1]
    if letter in _HEX_ESCAPES:
        width = _HEX_ESCAPES[letter]
        return chr(int(source[at + 2 : at + 2 + width], 16)), 2 + width
    return _ESCAPES.get(letter, ""), 2
