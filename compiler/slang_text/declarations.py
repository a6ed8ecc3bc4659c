"""What a Slang text declares besides functions: its tokens go in, structs, globals, imports and their places come out.

What stands in a namespace is declared by itself. What stands in a struct or an extension belongs to that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import Span
from slangad.compiler.slang_text.bodies import closing
from slangad.compiler.slang_text.headers import declared_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import Bodies
    from slangad.compiler.slang_text.headers import Header
    from slangad.compiler.slang_text.tokens import Text, Token

_STRUCTS: Final = frozenset({"struct", "class", "interface", "enum"})
_OTHER_NAMES: Final = frozenset({"typedef", "typealias"})
_BLOCKS: Final = frozenset({"cbuffer", "tbuffer"})
_NAMELESS: Final = frozenset({"import", "__include", "using"})
_KINDS: Final = _STRUCTS | _OTHER_NAMES | _BLOCKS | _NAMELESS | {"extension"}
_NOTHING: Final = frozenset({";", "module", "implementing"})
_VISIBILITY: Final = frozenset({"public", "internal", "private"})
_SHOWN: Final = 20
"""Characters of something that has no name."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared outside of functions, with all that stands in it.

    Attributes:
        kind: What it is: ``struct``, ``import``, ``global`` and so on.
        name: What it is known by, with the namespaces it stands in: of an extension what it extends, of an import what
            is imported.
        span: The place of its name.
        start: The offset of its first character, ``end`` of its last one.
        names: The words that those who use it have in their text, as far as it is known; none of imports.
        words: All that it mentions outside of functions in it.
        stubs: What may stand for it, so that what uses it can be read; nothing if nothing can.
    """

    kind: str
    name: str
    span: Span
    start: int
    end: int
    names: frozenset[str]
    words: frozenset[str] = field(repr=False)
    stubs: tuple[str, ...]

    @property
    def brings_in(self) -> bool:
        """Whether it declares what stands elsewhere, so that nothing is known of it."""
        return self.kind in _NAMELESS or self.kind == "#include"


def declarations_of(bodies: Bodies, text: Text) -> Iterator[Declaration]:
    """Everything a text declares outside of functions."""
    functions = {function.start for function in bodies.functions}
    for first, behind, scopes in _pieces(text.tokens):
        tokens = text.tokens[first:behind]
        start, end = _offset(bodies, tokens[0]), _offset(bodies, tokens[-1]) + len(tokens[-1].text) - 1
        if start not in functions and tokens[0].text not in _NOTHING:
            yield _declaration(_Piece(bodies, tokens, start, end, scopes))
    for line in text.directives:
        if line.text.startswith("include"):
            yield _include(bodies, line)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The tokens of a declaration."""

    bodies: Bodies
    tokens: Sequence[Token]
    start: int
    end: int
    scopes: tuple[str, ...]

    @property
    def headers(self) -> Iterator[Header]:
        """The heads of functions in it."""
        for header in self.bodies.scan.headers:
            if self.start <= (self.bodies.offset(header.span) or 0) <= self.end:
                yield header

    @property
    def words(self) -> Iterator[str]:
        """The words in it that stand in no function."""
        inside = [(f.start, f.end) for f in self.bodies.functions if self.start <= f.start <= self.end]
        for token in self.tokens:
            offset = _offset(self.bodies, token)
            if token.kind == "word" and not any(start <= offset <= end for start, end in inside):
                yield token.text

    @property
    def top(self) -> Iterator[Token]:
        """The tokens that stand in no bracket, without brackets."""
        index = 0
        while index < len(self.tokens):
            behind = closing(self.tokens, index) + 1
            if behind == index + 1:
                yield self.tokens[index]
            index = behind


def _offset(bodies: Bodies, token: Token) -> int:
    return bodies.starts[token.line - 1] + token.column - 1


def _pieces(tokens: Sequence[Token]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The first token of each, the one behind its last, and the namespaces it stands in."""
    scopes: list[tuple[str, ...]] = []
    start = index = 0
    while index < len(tokens):
        mark, head = tokens[index].text, tokens[start:index]
        behind = closing(tokens, index) + 1
        if mark == "{" and any(token.text == "namespace" for token in head):
            scopes.append(tuple(token.text for token in head if token.kind == "word" and token.text != "namespace"))
            start = behind = index + 1
        elif mark == "}":
            scopes = scopes[:-1]
            start = behind
        elif mark == ";" or (mark == "{" and not (head and head[-1].text == "=")):
            if mark == "{" and behind < len(tokens) and tokens[behind].text == ";":
                behind += 1
            yield start, behind, tuple(name for names in scopes for name in names)
            start = behind
        index = behind
    if start < len(tokens):
        yield start, len(tokens), ()


def _declaration(piece: _Piece) -> Declaration:
    top = list(piece.top)
    kind = next((token.text for token in top if token.text in _KINDS), "function" if any(piece.headers) else "global")
    names = tuple(dict.fromkeys(_names(kind, piece, top)))
    name = _known_by(kind, top, names) or "".join(token.text for token in piece.tokens).rstrip(";")[:_SHOWN]
    place = next((token for token in piece.tokens if token.text == name), piece.tokens[0])
    return Declaration(
        kind=kind,
        name=name if kind in _NAMELESS else ".".join((*piece.scopes, name)),
        span=_span(piece.bodies.scan.file, place),
        start=piece.start,
        end=piece.end,
        names=frozenset(names),
        words=frozenset(piece.words),
        stubs=tuple(_stubs(kind, top, names)),
    )


def _include(bodies: Bodies, line: Token) -> Declaration:
    start = _offset(bodies, line)
    end = bodies.text.find("\n", start)
    name = line.text.removeprefix("include").split("//")[0].strip(' "<>')
    nothing = frozenset[str]()
    last = (end if end >= 0 else len(bodies.text)) - 1
    return Declaration("#include", name, _span(bodies.scan.file, line), start, last, nothing, nothing, ())


def _span(file: str, token: Token) -> Span:
    return Span(file, token.line, token.column, token.line, token.column + len(token.text))


def _names(kind: str, piece: _Piece, top: Sequence[Token]) -> Iterator[str]:
    """What others call it by; an extension by what it extends, by what, and by what it adds."""
    if kind in _STRUCTS or kind == "typealias":
        yield from (token.text for token in _behind(kind, top)[:1])
    elif kind == "typedef":
        yield from declared_names(_behind(kind, top))
    elif kind in _BLOCKS:
        yield from _fields(piece.tokens)
    elif kind in ("function", "extension"):
        yield from (header.name for header in piece.headers)
        yield from (token.text for token in _behind("extension", top) if token.kind == "word")
    elif kind not in _NAMELESS:
        yield from declared_names(top)


def _behind(kind: str, top: Sequence[Token]) -> list[Token]:
    """The tokens behind the word that says what it is, if there is one."""
    at = next((k for k, token in enumerate(top) if token.text == kind), len(top))
    return [token for token in top[at + 1 :] if token.text not in ("class", ";")]


def _fields(tokens: Sequence[Token]) -> Iterator[str]:
    opening = next((k for k, token in enumerate(tokens) if token.text == "{"), len(tokens) - 1)
    start = opening + 1
    for k in range(start, closing(tokens, opening)):
        if tokens[k].text == ";":
            yield from declared_names(tokens[start:k])
            start = k + 1


def _known_by(kind: str, top: Sequence[Token], names: Sequence[str]) -> str:
    """Its name without namespaces; of what has several, the first one."""
    if kind in _NAMELESS:
        return "".join(token.text for token in _behind(kind, top) if token.text != "namespace").strip('"')
    if kind in _BLOCKS or kind == "extension":
        return "".join(token.text for token in _behind(kind, top)[:1])
    return names[0] if names else ""


def _stubs(kind: str, top: Sequence[Token], names: Collection[str]) -> Iterator[str]:
    """Declarations of the same names of which Slang tells who uses them; it does not of generic ones."""
    texts = [token.text for token in top]
    if kind in _NAMELESS or kind in ("function", "extension") or "__generic" in texts:
        return
    shown = "".join(f"{text} " for text in texts if text in _VISIBILITY)
    types = kind in _STRUCTS or kind in _OTHER_NAMES
    for name in names:
        generic = kind != "typedef" and name in texts and texts[texts.index(name) + 1 :][:1] == ["<"]
        if not types:
            yield f"{shown}static const int {name} = 0;"
        elif not generic:
            yield f"{shown}{'interface' if kind == 'interface' else 'struct'} {name} {{}};"
