"""Break long lines of Slang at the outermost commas and operators that fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LIMIT: Final = 110
_LOOSEST_FIRST: Final = (
    (", ",), (" = ",), (" ? ", " : "), (" || ",), (" && ",), (" == ", " != ", " < ", " <= ", " > ", " >= "),
    (" + ", " - "), (" * ", " / "),
)  # fmt: skip
_RANK: Final = {text: rank for rank, texts in enumerate(_LOOSEST_FIRST) for text in texts}
_BEFORE: Final = frozenset({", ", " = "})
"""Separators that stay on the line they end."""


@dataclass(frozen=True, slots=True)
class LinePart:
    """One line of a broken one: its text, and the column of the whole line it begins at (from 0)."""

    text: str
    start: int
    indent: int


def wrap(line: str, step: int) -> list[LinePart]:
    """Return the pieces of a line; continuation lines stand ``step`` further in than the first."""
    first = len(line) - len(line.lstrip())
    pieces: list[LinePart] = []
    start, indent = 0, 0
    body = line
    while indent + len(body) > LIMIT and not line.lstrip().startswith("//"):
        cut = _cut(line, start, LIMIT - indent)
        if cut is None:
            break
        end, following = cut
        pieces.append(LinePart(" " * indent + line[start:end], start, indent))
        start, indent = following, first + step
        body = line[start:]
    return [*pieces, LinePart(" " * indent + body, start, indent)]


def _cut(line: str, start: int, room: int) -> tuple[int, int] | None:
    """Where to end a piece that begins at ``start``, and where the next begins; None when there is no good place."""
    best: tuple[int, int] | None = None
    best_key = (0, 0, 0)
    for position, depth, separator in _separators(line):
        before = separator in _BEFORE
        end = position + len(separator.rstrip()) if before else position
        if not start + room // 3 < end <= start + room:
            continue
        key = (-depth, -_RANK[separator], end)
        if best is None or key > best_key:
            best, best_key = (end, position + len(separator) if before else position + 1), key
    return best


def _separators(line: str) -> list[tuple[int, int, str]]:
    """Return every place where a line may be broken: position, how many brackets are open, and what stands there."""
    found, depth = [], 0
    for position, letter in enumerate(line):
        depth += (letter in "([{") - (letter in ")]}")
        separator = next((s for s in _RANK if line.startswith(s, position)), None)
        if separator is not None:
            found.append((position, depth, separator))
    return found
