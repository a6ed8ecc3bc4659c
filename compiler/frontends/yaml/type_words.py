"""Types in a description's spelling: ``float3``, ``no_diff each float``, ``array<float, 4>``.

A text becomes a memory, a type, and a flag for values without gradient. Errors
point at the wrong word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from slangad.compiler.frontends.reading.problems import Problems, Rejected, did_you_mean
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.types import Array, Matrix, Scalar, Struct, Type, Vector
from slangad.compiler.lang.other_names import other_name
from slangad.compiler.lang.types.annotations import ADDRESSES, FILTERS, TextureOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.frontends.yaml.locations import TextLocations

PLACES: Final = {m.value: m for m in (Memory.EACH, Memory.PARAM, Memory.UNIFORM, Memory.SUM, Memory.MEAN)}
"""Words for memories, before the type."""
TENSORS: Final = {m.value: m for m in (Memory.TENSOR, Memory.OUT_TENSOR, Memory.INOUT_TENSOR)}
MAX_RANK: Final = 4
MAX_ENTRIES: Final = 1 << 16
_DEPTH: Final = 8
_TOKEN: Final = re.compile(r"\s*(?:(?P<word>[^\W\d]\w*)|(?P<number>\d+)|(?P<mark>[<>,])|(?P<other>\S))")


class UnusableType(Exception):  # noqa: N818  (control flow)
    """A name names a type that can't be used; without a message the error was reported already."""


class Types(Protocol):
    """The meanings of names of types and lengths."""

    def named_type(self, name: str) -> Type | None:
        """Return the type of a name; None if it names none.

        Raises:
            UnusableType: when the type was refused.
        """

    def type_names(self) -> Sequence[str]:
        """Return the names of types, for suggestions."""

    def length(self, name: str) -> int | None:
        """Return the value of an integer constant."""


@dataclass(frozen=True, slots=True)
class TypeWords:
    """The parts of a type text; ``memory`` is None if the text names no memory."""

    type: Type
    memory: Memory | None = None
    no_diff: bool = False
    rank: int = 0
    options: TextureOptions | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def read_type(locations: TextLocations, types: Types, problems: Problems) -> TypeWords | None:
    """Return the type that a text names; None after a report."""
    try:
        return _TypeReader(locations, types, problems).whole()
    except Rejected:
        return None


class _TypeReader:
    def __init__(self, locations: TextLocations, types: Types, problems: Problems) -> None:
        self.locations = locations
        self.types = types
        self.problems = problems
        self.tokens = [
            _Token(str(m.lastgroup), m[str(m.lastgroup)], m.start(str(m.lastgroup)), m.end())
            for m in _TOKEN.finditer(locations.text)
        ]
        self.at = 0

    def whole(self) -> TypeWords:
        """Parse the words before the type, the type, and the end."""
        memory, no_diff = self._prefixes()
        token = self._peek()
        made: TypeWords
        if token is not None and token.text in TENSORS:
            made = self._tensor(TENSORS[token.text])
        elif token is not None and token.text == Memory.TEXTURE2D.value:
            made = self._texture()
        else:
            made = TypeWords(self._type(0))
        rest = self._peek()
        if rest is not None:
            raise self._error(rest, f"'{rest.text}' can't follow the type", _mistake(rest.text))
        if memory is not None and made.memory is not None:
            raise self._error(self.tokens[0], "this declares memory twice", "keep one of the words")
        return TypeWords(made.type, made.memory or memory, no_diff or made.no_diff, made.rank, made.options)

    def _prefixes(self) -> tuple[Memory | None, bool]:
        memory, no_diff = None, False
        while True:
            token = self._peek()
            if token is None or token.kind != "word" or self._is_last():
                return memory, no_diff
            if token.text == "no_diff":
                no_diff = True
            elif token.text in PLACES and memory is None:
                memory = PLACES[token.text]
            elif token.text in PLACES:
                raise self._error(token, "this declares memory twice", "keep one of the words")
            else:
                return memory, no_diff
            self.at += 1

    def _is_last(self) -> bool:
        return self.at + 1 == len(self.tokens)

    def _tensor(self, memory: Memory) -> TypeWords:
        self.at += 1
        self._expect("<", f"write {memory.value}<float, 2>")
        no_diff = self._accept("no_diff")
        type_ = self._type(1)
        rank = self._number("the number of indices") if self._accept(",") else 1
        if not 1 <= rank <= MAX_RANK:
            raise self._error(self.tokens[self.at - 1], f"a tensor has 1 to {MAX_RANK} indices, not {rank}", "")
        self._expect(">", "")
        return TypeWords(type_, memory, no_diff, rank)

    def _texture(self) -> TypeWords:
        self.at += 1
        self._expect("<", "write texture2d<float3>")
        no_diff = self._accept("no_diff")
        type_ = self._type(1)
        chosen: dict[str, str] = {}
        while self._accept(","):
            token = self._take("an option such as repeat")
            kind = "filter" if token.text in FILTERS else "address" if token.text in ADDRESSES else ""
            if not kind or kind in chosen:
                known = (*ADDRESSES, *FILTERS)
                raise self._error(
                    token, f"'{token.text}' is no option of a texture" if not kind else f"a texture has one {kind}",
                    ("" if kind else did_you_mean(token.text, known)) or f"one of {', '.join(known)}",
                )  # fmt: skip
            chosen[kind] = token.text
        self._expect(">", "")
        return TypeWords(type_, Memory.TEXTURE2D, no_diff, options=TextureOptions(**chosen))

    def _type(self, depth: int) -> Type:
        token = self._take("a type")
        if depth > _DEPTH:
            raise self._error(token, "this type is nested too deeply", "")
        if token.text == "array" and "array" not in self.types.type_names():
            return self._array(depth)
        try:
            type_ = self.types.named_type(token.text) if token.kind == "word" else None
        except UnusableType as unusable:
            if str(unusable):
                raise self._error(token, str(unusable), "a struct holds its fields, not references") from None
            raise Rejected(token.text) from None
        if type_ is None:
            raise self._error(token, f"unknown type '{token.text}'", self._advice(token.text), "not a type")
        return type_

    def _array(self, depth: int) -> Type:
        start = self.at - 1
        self._expect("<", "write array<float, 4>")
        element = self._type(depth + 1)
        if not isinstance(element, (Scalar, Vector, Matrix, Array, Struct)):
            raise self._error(
                self.tokens[start + 2], "an array can't hold this", "numbers, vectors, arrays and structs"
            )
        self._expect(",", "an array needs its length: array<float, 4>")
        size = self._number("a length")
        if size < 1 or size * entries_of_type(element) > MAX_ENTRIES:
            raise self._error(
                self.tokens[self.at - 1], f"an array can't have {size} such entries", f"1 to {MAX_ENTRIES} in all"
            )
        self._expect(">", "")
        return Array(element, size)

    def _number(self, what: str) -> int:
        token = self._take(what)
        value = int(token.text) if token.kind == "number" and len(token.text) < 10 else self.types.length(token.text)
        if value is None:
            raise self._error(token, f"expected {what}, found '{token.text}'", "a number, or a constant that is one")
        return value

    def _advice(self, word: str) -> str:
        if word == "Array":
            return "write array<float, 4>"
        if word in PLACES or word == "no_diff":
            return f"'{word}' needs a type after it: {word} float"
        if word in self.types.type_names():
            return f"something here is called '{word}', which hides the type: rename it"
        known = [*self.types.type_names(), "array", *TENSORS, Memory.TEXTURE2D.value, *PLACES, "no_diff"]
        return (
            did_you_mean(word[:64], known)
            or other_name(word).replace("sa.", "")
            or ("use float, int, bool, uint, half, double, float3, float4x4, array<float, 4> or a struct")
        )

    def _peek(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take(self, what: str) -> _Token:
        token = self._peek()
        if token is None:
            raise self._end(what)
        self.at += 1
        return token

    def _accept(self, text: str) -> bool:
        token = self._peek()
        if token is None or token.text != text:
            return False
        self.at += 1
        return True

    def _expect(self, text: str, help_: str) -> None:
        token = self._peek()
        if token is None:
            raise self._end(f"'{text}'", help_)
        if not self._accept(text):
            raise self._error(token, f"expected '{text}', found '{token.text}'", help_)

    def _end(self, what: str, help_: str = "") -> Rejected:
        end = len(self.locations.text.rstrip())
        span = self.locations.range(max(end - 1, 0), max(end, 1)) if end else self.locations.whole
        return self.problems.error(
            "SA058", span, f"expected {what} after this" if end else f"expected {what}", help=help_
        )

    def _error(self, token: _Token, message: str, help_: str, label: str = "") -> Rejected:
        span = self.locations.range(token.start, token.end)
        return self.problems.error("SA058", span, message, label=label, help=help_)


def entries_of_type(type_: Type) -> int:
    """Return the number of scalars of a stored type."""
    match type_:
        case Vector(size=size):
            return size
        case Matrix(rows=rows, columns=columns):
            return rows * columns
        case Array(element=element, size=size):
            return size * entries_of_type(element)
        case Struct(fields=fields):
            return sum(entries_of_type(f.type) for f in fields)
        case _:
            return 1


def _mistake(text: str) -> str:
    return "types with parameters are written array<float, 4>" if text in ("[", "(") else ""
