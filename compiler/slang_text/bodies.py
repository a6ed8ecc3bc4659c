"""The functions of a Slang text with where each begins and ends: a text goes in, its functions with bodies come out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.headers import scan_text
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.headers import Header, Scan
    from slangad.compiler.slang_text.tokens import Token

_OPENED: Final = {"(": ")", "[": "]", "{": "}"}
_DIFFERENTIABLE: Final = frozenset(
    {"Differentiable", "BackwardDifferentiable", "ForwardDifferentiable", "BackwardDerivative", "ForwardDerivative"}
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that has a body.

    Attributes:
        start: The offset of its first attribute or word; ``body`` of its brace, ``end`` of the brace that closes it.
        called: The names that it calls or is differentiated by; ``words`` are all that it mentions.
    """

    header: Header
    start: int
    body: int
    end: int
    called: frozenset[str] = field(repr=False)
    words: frozenset[str] = field(repr=False)

    @property
    def name(self) -> str:
        """Its name with the namespaces and structs it stands in."""
        return ".".join((*(part.split()[-1] for part in self.header.path), self.header.name))

    @property
    def span(self) -> Span:
        """The place of its name."""
        return self.header.span

    @property
    def returns(self) -> bool:
        """Whether it gives something back."""
        return "void" not in self.header.words


@dataclass(frozen=True)
class Bodies:
    """A text and its functions.

    Attributes:
        whole: Whether all brackets close, so that the functions are what they seem.
        starts: The offsets of its lines.
    """

    text: str
    scan: Scan
    functions: tuple[Function, ...]
    whole: bool
    starts: tuple[int, ...]

    def at(self, span: Span) -> Function | None:
        """The function that a place lies in."""
        offset = self.offset(span)
        return next((f for f in self.functions if offset is not None and f.start <= offset <= f.end), None)

    def offset(self, span: Span) -> int | None:
        """Where a place is in the text, if it is."""
        if span.file != self.scan.file or not 0 < span.line <= len(self.starts):
            return None
        return self.starts[span.line - 1] + max(0, span.column - 1)

    def is_differentiable(self, function: Function) -> bool:
        """Whether it says that it can be differentiated, or another function says so of it."""
        further = self.scan.derivatives_of.get(function.header.name, frozenset())
        return bool(_DIFFERENTIABLE & {*function.header.attributes, *further})


def read_bodies(text: str, file: str) -> Bodies:
    """Take a text apart; ``file`` is its name in spans."""
    tokens = read_text(text).tokens
    starts = tuple(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]
    offsets = [starts[token.line - 1] + token.column - 1 for token in tokens]
    at = {offset: k for k, offset in enumerate(offsets)}
    scan = scan_text(text, file)
    placed = ((h, at[starts[h.span.line - 1] + h.span.column - 1]) for h in scan.headers)
    functions = tuple(one for h, k in placed if (one := _function(h, tokens, offsets, k)) is not None)
    return Bodies(text, scan, functions, _is_closed(tokens), starts)


def closing(tokens: Sequence[Token], index: int) -> int:
    """The token that closes the bracket at ``index``; the same one if it is none."""
    if tokens[index].text not in _OPENED:
        return index
    depth = 0
    for position in range(index, len(tokens)):
        depth += (tokens[position].text in _OPENED) - (tokens[position].text in _OPENED.values())
        if not depth:
            return position
    return len(tokens) - 1


def _function(header: Header, tokens: Sequence[Token], offsets: Sequence[int], name: int) -> Function | None:
    first = name
    while first > 0 and tokens[first - 1].text not in (";", "}", "{"):
        first -= 1
    opening = name
    while opening < len(tokens) and tokens[opening].text not in ("{", ";"):
        opening = closing(tokens, opening) + 1
    if opening >= len(tokens) or tokens[opening].text == ";":
        return None
    last = closing(tokens, opening)
    words = frozenset(token.text for token in tokens[first:last] if token.kind == "word")
    called = header.calls | {*header.attributes}
    return Function(header, offsets[first], offsets[opening], offsets[last], called, words)


def _is_closed(tokens: Sequence[Token]) -> bool:
    waiting: list[str] = []
    for token in tokens:
        if token.text in _OPENED:
            waiting.append(_OPENED[token.text])
        elif token.text in _OPENED.values() and (not waiting or waiting.pop() != token.text):
            return False
    return not waiting
