"""A YAML document as data: three kinds of nodes with locations. Aliases and merges are resolved.

``compose`` makes it, ``validate`` checks its structure, the other files read values from it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.yaml.text import line_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

Plain = str | int | float | bool | None
"""The value of a scalar of YAML's core schema."""

Style = Literal["plain", "single", "double", "literal", "folded"]


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """One scalar.

    Attributes:
        text: Its text without quotes and indentation.
        value: Its value: text, a number, a bool or None.
        span: Its location.
        start: Index of its first character in the file, a quote or ``|`` included.
        end: Index after its last character.
        style: Its style: plain, quotes or block.
    """

    text: str
    value: Plain
    span: Span
    start: int = field(compare=False)
    end: int = field(compare=False)
    style: Style = field(compare=False)


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MappingEntry:
    """One key of a mapping and its value."""

    key: ScalarNode
    value: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping; its keys are text and unique."""

    entries: tuple[MappingEntry, ...]
    span: Span

    def get(self, name: str) -> Node | None:
        """Return the value of a key, None if it is missing."""
        return next((e.value for e in self.entries if e.key.text == name), None)

    def key(self, name: str) -> ScalarNode:
        """Return the node of a key."""
        return next(e.key for e in self.entries if e.key.text == name)

    def __contains__(self, name: str) -> bool:
        return any(e.key.text == name for e in self.entries)


Node = ScalarNode | SequenceNode | MappingNode


class YamlText:
    """The text of a file and its lines."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return line_starts(self.text)

    def position(self, index: int) -> tuple[int, int]:
        """Return line and column, both from 1, of a character."""
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span from one character to before another."""
        return Span(self.file, *self.position(start), *self.position(max(end, start)))

    def first_line(self, start: int, end: int) -> Span:
        """Return the span, at most to the end of its first line."""
        line = self.position(start)[0]
        stop = self._starts[line] if line < len(self._starts) else len(self.text)
        text = self.text[start : min(end, stop)].rstrip()
        return self.span(start, start + max(len(text), 1))


@dataclass(frozen=True, slots=True)
class Document:
    """A file and its root mapping."""

    source: YamlText
    root: MappingNode


def plain_data(node: Node) -> object:
    """Return a node as lists, dictionaries and scalars; keys are their text."""
    match node:
        case ScalarNode(value=value):
            return value
        case SequenceNode(items=items):
            return [plain_data(item) for item in items]
        case MappingNode(entries=entries):
            return {e.key.text: plain_data(e.value) for e in entries}


def entries_of(node: Node | None) -> Iterator[tuple[ScalarNode, Node]]:
    """Return the entries of a mapping; none if it is missing or empty."""
    if isinstance(node, MappingNode):
        yield from ((e.key, e.value) for e in node.entries)
