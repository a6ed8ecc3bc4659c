"""Spans inside the text of a scalar, for bodies and types that are parsed separately."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.frontends.yaml.text import character_ranges, line_starts

if TYPE_CHECKING:
    from slangad.compiler.frontends.yaml.nodes import ScalarNode, YamlText


@dataclass(frozen=True, slots=True)
class TextLocations(SourceLocations):
    """The locations of the characters of a scalar's text.

    Attributes:
        whole: The span of all of the scalar.
        starts: Line and column in the file of each character of the text and of its end.
        ends: Line and column after each character.
        lines: The index of the first character of each line of the text.
    """

    whole: Span = NOWHERE
    starts: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    ends: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    lines: tuple[int, ...] = field(default=(), repr=False)

    def range(self, start: int, end: int) -> Span:
        """Return the span of the characters from one index of the text to before another."""
        last = len(self.starts) - 1
        start, end = min(max(start, 0), last), min(end, last)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        line, column = self.starts[start]
        stop = self.ends[end - 1] if end > start else (line, column)
        return Span(self.file, line, column, *max(stop, (line, column + 1)))

    def on_one_line(self) -> TextLocations:
        """Return the text without white space around it and with its lines joined: an expression over several lines."""
        text = self.text.rstrip()
        cut = len(text) - len(text.lstrip())
        if "#" in text:
            return replace(
                self, text=text[cut:], starts=self.starts[cut:], ends=self.ends[cut:], lines=line_starts(text[cut:])
            )
        flat = re.sub(r"[\r\n]", " ", text[cut:])
        return replace(self, text=flat, starts=self.starts[cut:], ends=self.ends[cut:], lines=(0,))

    def _make(self, line: int, start: int, end_line: int, end: int) -> Span:
        return self.range(self._index(line, start), self._index(end_line, end))

    def _index(self, line: int, column: int) -> int:
        if line > len(self.lines):
            return len(self.text)
        return self.lines[max(line, 1) - 1] + max(column, 0)


def text_locations(source: YamlText, node: ScalarNode) -> TextLocations:
    """Return the locations of a scalar's text."""
    ranges = character_ranges(source.text, node.start, node.end, node.style, node.text)
    return TextLocations(
        source.file,
        node.text,
        whole=node.span,
        starts=tuple(source.position(start) for start, _ in ranges),
        ends=tuple(source.position(end) for _, end in ranges),
        lines=line_starts(node.text),
    )
