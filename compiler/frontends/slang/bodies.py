"""The functions of a Slang text with where each begins and ends, and the text with some of them taken out.

A text goes in. What comes out has the same lines: a function that is taken out leaves blanks. Its head may stay, with a
body that gives zeros and a mark that makes Slang tell who uses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.slang.scan import scan_text
from slangad.compiler.frontends.slang.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.frontends.slang.scan import Header, Scan
    from slangad.compiler.frontends.slang.tokens import Token
    from slangad.compiler.spans import Span

_OPENED: Final = {"(": ")", "[": "]", "{": "}"}
_DIFFERENTIABLE: Final = frozenset(
    {"Differentiable", "BackwardDifferentiable", "ForwardDifferentiable", "BackwardDerivative", "ForwardDerivative"}
)
_ZEROS: Final = " return {}; "


@dataclass(frozen=True, slots=True)
class Function:
    """A function that has a body.

    Attributes:
        start: The offset of its first attribute or word; ``body`` of its brace, ``end`` of the brace that closes it.
        generic: Whether it has generic parameters.
        called: The names that it calls or is differentiated by; ``words`` are all that it mentions.
    """

    header: Header
    start: int
    body: int
    end: int
    generic: bool
    called: frozenset[str] = field(repr=False)
    words: frozenset[str] = field(repr=False)

    @property
    def name(self) -> str:
        """Its name with the namespaces and structs it stands in."""
        return ".".join((*(part.split()[-1] for part in self.header.path), self.header.name))

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
        macros: The words of each macro's text, those of macros in it too.
        conforming: The structs that have an interface besides ``IDifferentiable``.
    """

    text: str
    scan: Scan
    functions: tuple[Function, ...]
    whole: bool
    starts: tuple[int, ...]
    macros: Mapping[str, frozenset[str]]
    conforming: frozenset[str]

    def at(self, span: Span) -> Function | None:
        """The function that a place lies in."""
        if span.file != self.scan.file or not 0 < span.line <= len(self.starts):
            return None
        offset = self._offset(span)
        return next((f for f in self.functions if f.start <= offset <= f.end), None)

    def is_in_head(self, span: Span) -> bool:
        """Whether a place lies in a function, before its body."""
        function = self.at(span)
        return function is not None and self._offset(span) < function.body

    def is_differentiable(self, function: Function) -> bool:
        """Whether it says that it can be differentiated, or another function says so of it."""
        further = self.scan.derivatives_of.get(function.header.name, frozenset())
        return bool(_DIFFERENTIABLE & {*function.header.attributes, *further})

    def _offset(self, span: Span) -> int:
        return self.starts[span.line - 1] + max(0, span.column - 1)

    def users_of(self, function: Function, *, gone: bool) -> Iterator[Function]:
        """The functions that may use one in a way of which Slang does not tell.

        Slang tells of no use of a generic function, nor of one that is gone; and of a use in a macro it tells there.
        What a struct does by an interface may be used wherever the struct is mentioned.
        """
        name = function.header.name
        macros = {macro for macro, words in self.macros.items() if name in words}
        struct = next(iter(function.header.path[-1:]), "")
        conforming = struct in self.conforming
        for one in self.functions:
            unknown = (gone or function.generic) and name in one.called
            if one is not function and (unknown or macros & one.words or (conforming and struct in one.words)):
                yield one

    def without(self, emptied: Mapping[Function, str], gone: Collection[Function]) -> str:
        """The text in which some functions give zeros and have a mark, and others are gone."""
        text = self.text
        for function in sorted({*emptied, *gone}, key=lambda one: -one.start):
            if function in gone:
                text = _blanked(text, function.start, function.end + 1, "")
                continue
            text = _blanked(text, function.body + 1, function.end, _ZEROS if function.returns else "")
            text = f'{text[: function.start]}[deprecated("{emptied[function]}")] {text[function.start :]}'
        return text


def read_bodies(text: str, file: str) -> Bodies:
    """Take a text apart; ``file`` is its name in spans."""
    tokens = read_text(text).tokens
    starts = tuple(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]
    offsets = [starts[token.line - 1] + token.column - 1 for token in tokens]
    at = {offset: k for k, offset in enumerate(offsets)}
    scan = scan_text(text, file)
    placed = ((h, at[starts[h.span.line - 1] + h.span.column - 1]) for h in scan.headers)
    functions = tuple(one for h, k in placed if (one := _function(h, tokens, offsets, k)) is not None)
    conforming = frozenset(_conforming(tokens))
    return Bodies(text, scan, functions, _is_closed(tokens), starts, _macros(scan.directives), conforming)


def _function(header: Header, tokens: Sequence[Token], offsets: Sequence[int], name: int) -> Function | None:
    first = name
    while first > 0 and tokens[first - 1].text not in (";", "}", "{"):
        first -= 1
    opening = name
    while opening < len(tokens) and tokens[opening].text not in ("{", ";"):
        opening = _closing(tokens, opening) + 1
    if opening >= len(tokens) or tokens[opening].text == ";":
        return None
    last = _closing(tokens, opening)
    generic = tokens[name + 1].text == "<" or "__generic" in header.words
    words = frozenset(token.text for token in tokens[first:last] if token.kind == "word")
    called = header.calls | {*header.attributes}
    return Function(header, offsets[first], offsets[opening], offsets[last], generic, called, words)


def _conforming(tokens: Sequence[Token]) -> Iterator[str]:
    """The structs of ``struct Name : Interface``, unless there is none but ``IDifferentiable``."""
    for k, token in enumerate(tokens):
        if token.text == "struct" and k + 2 < len(tokens):
            head = list(takewhile(lambda one: one.text not in ("{", ";"), tokens[k + 2 :]))
            named = {one.text for one in head if one.kind == "word"} - {"IDifferentiable"}
            if named and any(one.text == ":" for one in head):
                yield tokens[k + 1].text


def _macros(directives: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for directive in directives:
        name, *words = re.findall(r"\w+", directive.removeprefix("define")) if directive.startswith("define") else [""]
        found[name] = frozenset(words)
    for _ in found:
        found = {name: words.union(*(found.get(word, ()) for word in words)) for name, words in found.items()}
    return found


def _closing(tokens: Sequence[Token], index: int) -> int:
    """The token that closes the bracket at ``index``; the same one if it is none."""
    if tokens[index].text not in _OPENED:
        return index
    depth = 0
    for position in range(index, len(tokens)):
        depth += (tokens[position].text in _OPENED) - (tokens[position].text in _OPENED.values())
        if not depth:
            return position
    return len(tokens) - 1


def _is_closed(tokens: Sequence[Token]) -> bool:
    waiting: list[str] = []
    for token in tokens:
        if token.text in _OPENED:
            waiting.append(_OPENED[token.text])
        elif token.text in _OPENED.values() and (not waiting or waiting.pop() != token.text):
            return False
    return not waiting


def _blanked(text: str, start: int, end: int, left: str) -> str:
    """The text with blanks between two places, and what is left at their end; lines stay."""
    kept = "".join("\n" if character == "\n" else " " for character in text[start:end])
    return text[:start] + kept + left + text[end:]
