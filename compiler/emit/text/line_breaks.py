"""Break long lines of Slang at the outermost commas and operators that fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 110
_LOOSEST_FIRST: Final = (
    (", ",), (" = ",), (" ? ", " : "), (" || ",), (" && ",), (" == ", " != ", " < ", " <= ", " > ", " >= "),
    (" + ", " - "), (" * ", " / "),
)  # fmt: skip
_RANK: Final = {text: rank for rank, texts in enumerate(_LOOSEST_FIRST) for text in texts}
_FIRST: Final = frozenset(text[0] for text in _RANK)
_OF_GENERICS: Final = 2
"""The depth of arguments of generics: a line is rather broken between those of the call."""
_COMMENT: Final = re.compile(r"/\*.*?\*/")
_BEFORE: Final = frozenset({", ", " = "})
"""Separators that end a line; others begin the next one."""


@dataclass(frozen=True, slots=True)
class LinePart:
    """One piece of a broken line: its text, and the column at which it begins in the unbroken line (from 0)."""

    text: str
    start: int
    indent: int


def wrap(line: str, step: int) -> list[LinePart]:
    """Return the pieces of a line; continuation lines are indented by ``step`` more than the first."""
    first = len(line) - len(line.lstrip())
    pieces: list[LinePart] = []
    start, indent = 0, 0
    body = line
    separators = _separators(line) if len(line) > WIDTH else []
    while indent + len(body) > WIDTH and not line.lstrip().startswith("//"):
        cut = _cut(separators, start, WIDTH - indent)
        if cut is None:
            break
        end, following = cut
        pieces.append(LinePart(" " * indent + line[start:end], start, indent))
        start, indent = following, first + step
        body = line[start:]
    return [*pieces, LinePart(" " * indent + body, start, indent)]


def _cut(separators: list[tuple[int, int, str]], start: int, room: int) -> tuple[int, int] | None:
    """Return the end of a piece that begins at ``start``, and the start of the next; None if no location is good."""
    best: tuple[int, int] | None = None
    best_key = (0, 0, 0)
    for position, depth, separator in separators:
        before = separator in _BEFORE
        end = position + len(separator.rstrip()) if before else position
        if not start + room // 3 < end <= start + room:
            continue
        key = (-depth, -_RANK[separator], end)
        if best is None or key > best_key:
            best, best_key = (end, position + len(separator) if before else position + 1), key
    return best


def _separators(line: str) -> list[tuple[int, int, str]]:
    """Return every location where a line may be broken: position, number of open brackets, and separator."""
    result, depth = [], 0
    line = _COMMENT.sub(lambda comment: "x" * len(comment[0]), line).partition(" // ")[0]  # comments stay whole
    for position, letter in enumerate(line):
        depth += (letter in "([{") - (letter in ")]}")
        if letter in "<>" and line[:position].rstrip("<>")[-1:].strip():  # of a generic: operators have spaces
            depth += _OF_GENERICS if letter == "<" else -_OF_GENERICS
        if letter in _FIRST:
            separator = next((s for s in _RANK if line.startswith(s, position)), None)
            if separator is not None:
                result.append((position, depth, separator))
    return result
