"""Shapes: the structure of a document. ``sections`` uses them, the loader and the JSON Schema read them.

A shape describes the allowed nodes at a location. Alternatives (``Either``) differ in the kind of node, so that the
loader and a schema's ``anyOf`` agree and errors refer to one alternative.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field
from typing import Final, Literal

from slangad.compiler.ir.bounds import ANY, Bounds

Kind = Literal["text", "integer", "number", "bool", "nothing", "list", "mapping"]

_LETTER: Final = r"[^\x00-\x40\x5B-\x5E\x60\x7B-\x7F]"
_LETTER_OR_DIGIT: Final = r"[^\x00-\x2F\x3A-\x40\x5B-\x5E\x60\x7B-\x7F]"
END: Final = r"$(?!\n)"
"""The end of a text; ``$`` alone is also before a last line end, to Python."""
NAME: Final = rf"^{_LETTER}{_LETTER_OR_DIGIT}*{END}"
"""A name: letters, digits and ``_``; all outside ASCII are letters. Means the same to Python and JavaScript."""
MAX_NAME: Final = 200
OWN_NAME: Final = rf"^(?!(?:{'|'.join(keyword.kwlist)}){END}){_LETTER}{_LETTER_OR_DIGIT}{{0,{MAX_NAME - 1}}}{END}"
"""A name that a description may give: not too long, no word of the expression language."""
CHECKED: Final = rf"^{_LETTER}{_LETTER_OR_DIGIT}*(\.{_LETTER}{_LETTER_OR_DIGIT}*)?{END}"
PATH: Final = rf"^{_LETTER}{_LETTER_OR_DIGIT}*(\.{_LETTER}{_LETTER_OR_DIGIT}*|\[[0-9]+\])+{END}"
"""A path into a parameter: ``shade.m.roughness``, ``f.m[0][1]``."""
PART: Final = rf"^{_LETTER}{_LETTER_OR_DIGIT}*(\.{_LETTER}{_LETTER_OR_DIGIT}*|\[[0-9]+\])*{END}"
"""The same without the function's name."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text; ``pattern`` is a regular expression it must contain, ``or_number`` admits numbers as their text.

    ``is_type``: it names a type. The loader reads it later, word by word; the schema has a pattern for it.
    """

    what: str = "a text"
    pattern: str = ""
    or_number: bool = False
    is_type: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words; ``others`` are names from elsewhere with the word that means the same."""

    words: tuple[str, ...]
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer within bounds."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds."""

    bounds: Bounds = ANY


@dataclass(frozen=True, slots=True)
class Flag:
    """``true`` or ``false``; ``only`` admits one of them."""

    only: bool | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of things of one shape."""

    item: Shape
    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping from names to ``low`` things of one shape or more; nothing at all means an empty one."""

    value: Shape
    keys: str = OWN_NAME
    what: str = "a name"
    low: int = 0


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a record, with its purpose; ``default`` if a value means the same as no key."""

    name: str
    shape: Shape
    doc: str
    required: bool = False
    default: bool | float | None = None


@dataclass(frozen=True, slots=True)
class When:
    """Further rules for a record whose ``key`` has a ``value``; with ``default`` also for one that lacks the key.

    Attributes:
        never: Keys that can't be there.
        then: The shapes that further keys have, if they are there, and the same in words.
    """

    key: str
    value: bool | int
    default: bool = False
    never: tuple[str, ...] = ()
    then: tuple[tuple[str, Shape, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with known keys.

    Attributes:
        what: Its subject, for messages.
        keys: The keys it may have.
        one_of: Exactly one of these is there.
        some_of: Mappings of which at least one must be present and not empty.
        alone: The keys that can't be combined with a key, by key.
        when: Rules that depend on the value of a key.
    """

    what: str
    keys: tuple[Key, ...]
    one_of: tuple[str, ...] = ()
    some_of: tuple[str, ...] = ()
    alone: tuple[tuple[str, tuple[str, ...]], ...] = ()
    when: tuple[When, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """One of several shapes of different kinds."""

    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A shape of the table ``sections.DEFINITIONS``, by name: shapes may contain themselves."""

    name: str


Shape = Text | Choice | Integer | Number | Flag | ListOf | MapOf | Record | Either | Named


@dataclass(frozen=True, slots=True)
class ShapeTable:
    """All shapes of a format: the root and the named ones."""

    root: Shape
    definitions: dict[str, Shape] = field(default_factory=dict)

    def find(self, shape: Shape) -> Shape:
        """Return the shape; a name is looked up."""
        while isinstance(shape, Named):
            shape = self.definitions[shape.name]
        return shape

    def alternatives(self, shape: Shape) -> tuple[Shape, ...]:
        """Return the alternatives of an ``Either``, else the shape itself."""
        shape = self.find(shape)
        if isinstance(shape, Either):
            return tuple(s for inner in shape.shapes for s in self.alternatives(inner))
        return (shape,)


def kinds(shape: Text | Choice | Integer | Number | Flag | ListOf | MapOf | Record) -> frozenset[Kind]:
    """Return the kinds of nodes that a shape takes."""
    match shape:
        case Text(or_number=True):
            return frozenset({"text", "integer", "number"})
        case Text() | Choice():
            return frozenset({"text"})
        case Integer():
            return frozenset({"integer"})
        case Number():
            return frozenset({"integer", "number"})
        case Flag():
            return frozenset({"bool"})
        case ListOf():
            return frozenset({"list"})
        case MapOf(low=low):
            return frozenset({"mapping"} if low else {"mapping", "nothing"})
        case Record():
            return frozenset({"mapping"})


def matches(pattern: str, text: str) -> bool:
    """Return True if a text matches a pattern, in the sense of JSON Schema."""
    return re.search(pattern, text) is not None
