"""Places in a user's file: every token, IR node and diagnostic points at one. Lowest layer, imports nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of characters in one file.

    Lines and columns count from 1; columns count characters (a tab is one), not bytes. ``end_column`` is exclusive.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


NOWHERE = Span("", 0, 0, 0, 0)
"""The span of nodes the compiler made up itself."""
