"""Find the declarations of a Slang text besides functions: structs, globals, imports, with their locations.

A declaration in a namespace counts by itself. A member of a struct or an extension belongs to that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.headers import declared_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.headers import Header
    from slangad.compiler.slang_text.tokens import Token

STRUCTS: Final = frozenset({"struct", "class", "interface", "enum"})
_OTHER_NAMES: Final = frozenset({"typedef", "typealias"})
_BLOCKS: Final = frozenset({"cbuffer", "tbuffer"})
_NAMELESS: Final = frozenset({"import", "__include", "using"})
_KINDS: Final = STRUCTS | _OTHER_NAMES | _BLOCKS | _NAMELESS | {"extension"}
_NOTHING: Final = frozenset({";", "module", "implementing"})
_VISIBILITY: Final = frozenset({"public", "internal", "private"})
_SHOWN: Final = 20
"""Characters that are shown of a declaration without a name."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration outside of functions, with its members.

    Attributes:
        kind: ``struct``, ``import``, ``global`` and so on.
        name: Its name with its namespaces. An extension has the name of the type, an import that of the module.
        span: The location of its name.
        start: The offset of its first character. ``end`` is that of its last one.
        names: The words by which other text uses it, if known. Imports have none.
        words: The words in it, outside of its functions.
        stubs: Declarations that can replace it, so that Slang can read the text that uses it.
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
        """True if it brings in declarations of another file."""
        return self.kind in _NAMELESS or self.kind == "#include"


def declarations_of(source: SlangSource) -> Iterator[Declaration]:
    """Yield everything that a text declares outside of functions."""
    functions = {function.start for function in source.functions}
    for first, behind, scopes in _pieces(source.tokens):
        tokens = source.tokens[first:behind]
        start, end = source.offsets[first], source.offsets[behind - 1] + len(tokens[-1].text) - 1
        if start not in functions and tokens[0].text not in _NOTHING:
            yield _declaration(_DeclarationTokens(source, tokens, source.offsets[first:behind], start, end, scopes))
    for line in source.code.directives:
        if line.text.startswith("include"):
            yield _include(source, line)


@dataclass(frozen=True, slots=True)
class _DeclarationTokens:
    """The tokens of a declaration."""

    source: SlangSource
    tokens: Sequence[Token]
    offsets: Sequence[int]
    start: int
    end: int
    scopes: tuple[str, ...]

    @property
    def headers(self) -> list[Header]:
        """The heads of functions in it."""
        return self.source.headers_in(self.start, self.end)

    @property
    def words(self) -> Iterator[str]:
        """The words in it, outside of functions."""
        inside = [(f.start, f.end) for f in self.source.functions_in(self.start, self.end)]
        for token, offset in zip(self.tokens, self.offsets, strict=True):
            if token.kind == "word" and not any(start <= offset <= end for start, end in inside):
                yield token.text

    @property
    def top(self) -> Iterator[Token]:
        """The tokens outside of brackets."""
        index = 0
        while index < len(self.tokens):
            behind = closing(self.tokens, index) + 1
            if behind == index + 1:
                yield self.tokens[index]
            index = behind


def _pieces(tokens: Sequence[Token]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the first token of each declaration, the token behind its last, and its namespaces."""
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


def _declaration(piece: _DeclarationTokens) -> Declaration:
    top = list(piece.top)
    kind = next((token.text for token in top if token.text in _KINDS), "function" if any(piece.headers) else "global")
    names = tuple(dict.fromkeys(_names(kind, piece, top)))
    name = _known_by(kind, top, names) or "".join(token.text for token in piece.tokens).rstrip(";")[:_SHOWN]
    place = next((token for token in piece.tokens if token.text == name), piece.tokens[0])
    return Declaration(
        kind=kind,
        name=name if kind in _NAMELESS else ".".join((*piece.scopes, name)),
        span=place.span(piece.source.file),
        start=piece.start,
        end=piece.end,
        names=frozenset(names),
        words=frozenset(piece.words),
        stubs=tuple(_stubs(kind, top, names)),
    )


def _include(source: SlangSource, line: Token) -> Declaration:
    start = source.starts[line.line - 1] + line.column - 1
    end = source.text.find("\n", start)
    name = line.text.removeprefix("include").split("//")[0].strip(' "<>')
    nothing = frozenset[str]()
    last = (end if end >= 0 else len(source.text)) - 1
    return Declaration("#include", name, line.span(source.file), start, last, nothing, nothing, ())


def _names(kind: str, piece: _DeclarationTokens, top: Sequence[Token]) -> Iterator[str]:
    """Yield the names by which others use a declaration. An extension has those of its type and its members."""
    if kind in STRUCTS or kind == "typealias":
        yield from (token.text for token in _behind(kind, top)[:1])
    elif kind == "typedef":
        yield from declared_names(_behind(kind, top))
    elif kind in _BLOCKS:
        yield from _fields(piece.tokens)
    elif kind in ("function", "extension"):
        yield from (header.name for header in piece.headers)
        yield from (token.text for token in _extended(top) if token.kind == "word")
    elif kind not in _NAMELESS:
        yield from declared_names(top)


def _behind(kind: str, top: Sequence[Token]) -> list[Token]:
    """Return the tokens behind the word for the kind of declaration."""
    at = next((k for k, token in enumerate(top) if token.text == kind), len(top))
    return [token for token in top[at + 1 :] if token.text not in ("class", ";")]


def _extended(top: Sequence[Token]) -> list[Token]:
    """Return the tokens behind ``extension`` and its generic parameters."""
    tokens, depth = _behind("extension", top), 0
    for k, token in enumerate(tokens):
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if not depth:
            return tokens[k + (token.text == ">") :]
    return tokens


def _fields(tokens: Sequence[Token]) -> Iterator[str]:
    opening = next((k for k, token in enumerate(tokens) if token.text == "{"), len(tokens) - 1)
    start = opening + 1
    for k in range(start, closing(tokens, opening)):
        if tokens[k].text == ";":
            yield from declared_names(tokens[start:k])
            start = k + 1


def _known_by(kind: str, top: Sequence[Token], names: Sequence[str]) -> str:
    """Return the name without namespaces, the first one if there are several."""
    if kind in _NAMELESS:
        return "".join(token.text for token in _behind(kind, top) if token.text != "namespace").strip('"')
    if kind in _BLOCKS or kind == "extension":
        behind = _extended(top) if kind == "extension" else _behind(kind, top)
        return "".join(token.text for token in behind[:1])
    return names[0] if names else ""


def _stubs(kind: str, top: Sequence[Token], names: Collection[str]) -> Iterator[str]:
    """Yield declarations of the same names. Slang reports uses of these, but not of generic ones."""
    texts = [token.text for token in top]
    if kind in _NAMELESS or kind in ("function", "extension") or "__generic" in texts:
        return
    shown = "".join(f"{text} " for text in texts if text in _VISIBILITY)
    types = kind in STRUCTS or kind in _OTHER_NAMES
    for name in names:
        generic = kind != "typedef" and name in texts and texts[texts.index(name) + 1 :][:1] == ["<"]
        if not types:
            yield f"{shown}static const int {name} = 0;"
        elif not generic:
            yield f"{shown}{'interface' if kind == 'interface' else 'struct'} {name} {{}};"
