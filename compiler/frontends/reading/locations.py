"""Spans of syntax-tree nodes in the user's file, for Python files and for text inside another document."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import Span

if TYPE_CHECKING:
    import ast


@lru_cache(maxsize=64)
def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))


@dataclass(frozen=True, slots=True)
class SourceLocations:
    """The text that a tree was parsed from, and its location.

    ``line_offset`` and ``column_offset`` move positions into the surrounding file (a block scalar of a YAML document).
    """

    file: str
    text: str = field(repr=False)
    line_offset: int = 0
    column_offset: int = 0

    def span(self, node: ast.AST) -> Span:
        """Return the span of a node that has a position."""
        line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", None)
        start_byte, end_byte = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
        end = line if end is None else end
        end_byte = start_byte + 1 if end_byte is None else end_byte
        return self._make(line, self._characters(line, start_byte), end, self._characters(end, end_byte))

    def line_text(self, line: int) -> str:
        """Return line ``line`` of the parsed text, from 1."""
        lines = _lines(self.text)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def name_span(self, node: ast.FunctionDef | ast.ClassDef) -> Span:
        """Return the span of the name in a ``def`` or ``class`` line."""
        line = node.lineno
        match = re.search(rf"(?:def|class)\s+({re.escape(node.name)})", self.line_text(line))
        start = match.start(1) if match else self._characters(line, node.col_offset)
        return self._make(line, start, line, start + len(node.name))

    def keyword_span(self, node: ast.stmt) -> Span:
        """Return the span of a statement's first word."""
        line = node.lineno
        start = self._characters(line, node.col_offset)
        occurrence = re.match(r"\w+", self.line_text(line)[start:])
        return self._make(line, start, line, start + (len(occurrence.group()) if occurrence else 1))

    def after(self, value: ast.expr, length: int) -> Span:
        """Return the span of the ``length`` characters after the dot that follows ``value`` (an attribute's name)."""
        line = value.end_lineno or value.lineno
        start = self._characters(line, value.end_col_offset or 0)
        occurrence = re.match(r"\s*\.\s*", self.line_text(line)[start:])
        if occurrence is None:
            return self.span(value)
        start += occurrence.end()
        return self._make(line, start, line, start + length)

    def between(self, left: ast.expr, right: ast.expr) -> Span:
        """Return the span of the operator between two expressions of one line, of both if they are on two."""
        line = left.end_lineno or left.lineno
        start, end = self._characters(line, left.end_col_offset or 0), self._characters(line, right.col_offset)
        text = self.line_text(line)[start:end]
        match = re.search(r"[^\s()]([^()]*[^\s()])?", text)
        if line != right.lineno or match is None:
            first, last = self.span(left), self.span(right)
            return Span(self.file, first.line, first.column, last.end_line, last.end_column)
        return self._make(line, start + match.start(), line, start + match.end())

    def point(self, line: int, column: int, length: int = 1) -> Span:
        """Return a span from a line and character column (both from 1) of the parsed text."""
        return self._make(line, column - 1, line, column - 1 + length)

    def _characters(self, line: int, byte: int) -> int:
        text = self.line_text(line)
        return byte if text.isascii() else len(text.encode("utf-8")[:byte].decode("utf-8", "ignore"))

    def _make(self, line: int, start: int, end_line: int, end: int) -> Span:
        shift, indent = self.line_offset, self.column_offset
        return Span(self.file, line + shift, start + indent + 1, end_line + shift, end + indent + 1)
