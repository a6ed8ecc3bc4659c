"""Where things stand in a Slang file: its text goes in, the headers of functions with comments and attributes come out.

Slang's reflection says what a file declares, but not where. The scan only serves places, comments, and hints; what it
takes for a function need not be one, and preprocessor conditions are not evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.slang_text.tokens import Comment, Text, Token, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NOT_NAMES: Final = frozenset(["if", "for", "while", "switch", "catch", "else", "return", "do", "sizeof"])
_OPENED: Final = {"(": ")", "[": "]", "{": "}"}
_NESTING: Final = {**_OPENED, "<": ">"}
_SCOPES: Final = frozenset(["struct", "class", "interface", "extension", "namespace", "enum"])
_UNREFLECTED: Final = frozenset({"extension", "class"})
"""Scopes whose methods reflection does not show."""
_VISIBILITY: Final = frozenset(["public", "internal", "private", "module", "implementing"])
_PASSING: Final = frozenset(["in", "const", "uniform", "no_diff"])
"""Words before a parameter that make no other function of it."""
_BEFORE_TYPES: Final = frozenset(["out", "inout", ".", "::"])
_DERIVATIVE_OF: Final = frozenset(["BackwardDerivativeOf", "ForwardDerivativeOf", "PrimalSubstituteOf"])


@dataclass(frozen=True, slots=True)
class Header:
    """The head of a function.

    Attributes:
        name: Its name, such as ``shade`` or ``operator+``.
        path: The namespaces and structs it stands in, as far as braces tell; others like ``extension Name``.
        params: The names of its parameters.
        types: Their types as they are written, with ``out`` and ``inout``.
        generic: Whether it has generic parameters.
        attributes: The words of the attributes before it, such as ``Differentiable``.
        words: Every other word before its name: modifiers, its type, macros.
        comments: The comment lines directly above it, and those inside its head.
        span: Its name.
        calls: Every name in its body that arguments follow.
    """

    name: str
    path: tuple[str, ...]
    params: tuple[str, ...]
    attributes: tuple[str, ...]
    words: tuple[str, ...]
    comments: tuple[Comment, ...]
    span: Span
    calls: frozenset[str] = frozenset()
    types: tuple[str, ...] = ()
    generic: bool = False

    @property
    def signature(self) -> str:
        """What tells it from other functions of its name: ``(float3, inout float)``."""
        return f"({', '.join(self.types)})"


@dataclass(frozen=True, slots=True)
class Scan:
    """All that is known of one file's text.

    ``words`` has the first place of every word, ``begins`` the first two, ``derivatives_of`` the attributes that other
    functions give a function by naming it (``BackwardDerivativeOf`` gives ``BackwardDerivative``).
    """

    file: str
    headers: tuple[Header, ...]
    words: dict[str, Span]
    directives: tuple[str, ...]
    derivatives_of: dict[str, frozenset[str]]
    begins: tuple[str, ...]

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a module whose main file is another."""
        return self.begins[:1] == ("implementing",)

    @property
    def unreflected(self) -> tuple[Header, ...]:
        """The differentiable methods that reflection does not show."""
        return tuple(
            header
            for header in self.headers
            if "Differentiable" in header.attributes and "".join(header.path[-1:]).partition(" ")[0] in _UNREFLECTED
        )

    @property
    def controls_visibility(self) -> bool:
        """Whether some of what it declares may be hidden from those who import it."""
        dialect = any(directive.startswith(("lang", "version")) for directive in self.directives)
        return dialect or any(word in self.words for word in _VISIBILITY)

    @property
    def has_entry_points(self) -> bool:
        """Whether it has entry points of its own."""
        return any("shader" in header.attributes for header in self.headers)

    @property
    def macros(self) -> Iterator[str]:
        """The names of the macros it defines."""
        for directive in self.directives:
            word, _, rest = directive.partition(" ")
            if word == "define" and rest:
                yield rest.partition("(")[0].split()[0]

    def find(
        self,
        name: str,
        path: tuple[str, ...],
        params: tuple[str, ...],
        which: tuple[int, int] = (0, 1),
        *,
        generic: bool = False,
    ) -> Header | None:
        """The header of a function; of several, the one most like it.

        Args:
            name: Its name.
            path: The namespaces and structs it stands in.
            params: The names of its parameters.
            which: Its number among the differentiable functions of which all this is the same, and how many there are.
            generic: Whether it has generic parameters.
        """

        def likeness(header: Header) -> tuple[bool, bool, bool]:
            return header.path == path, header.generic == generic, header.params == params

        named = [header for header in self.headers if header.name == name]
        best = max(map(likeness, named), default=None)
        alike = [header for header in named if likeness(header) == best]
        marked = [header for header in alike if "Differentiable" in header.attributes]
        number, count = which
        told_apart = next((found for found in (marked, alike) if len(found) == count), alike[:1])
        return told_apart[min(number, len(told_apart) - 1)] if told_apart else None


def scan_text(source: str, file: str) -> Scan:
    """Scan a file's text; ``file`` is its name in spans."""
    text = read_text(source)
    words: dict[str, Span] = {}
    for token in text.tokens:
        if token.kind == "word":
            words.setdefault(token.text, _span(token, file))
    return Scan(
        file=file,
        headers=tuple(_headers(text, file)),
        words=words,
        directives=tuple(directive.text for directive in text.directives),
        derivatives_of=_derivatives_of(text.tokens),
        begins=tuple(token.text for token in text.tokens[:2]),
    )


def _span(token: Token, file: str) -> Span:
    return Span(file, token.line, token.column, token.line, token.column + len(token.text))


def _derivatives_of(tokens: Sequence[Token]) -> dict[str, frozenset[str]]:
    """The last word in the parentheses of ``[BackwardDerivativeOf(f)]`` and its like, and what that makes of ``f``."""
    found: dict[str, frozenset[str]] = {}
    for index, token in enumerate(tokens):
        if token.text in _DERIVATIVE_OF:
            inside = tokens[index + 2 : _closing(tokens, index + 1)]
            for name in [t.text for t in inside if t.kind == "word"][-1:]:
                found[name] = found.get(name, frozenset()) | {token.text.removesuffix("Of")}
    return found


def _headers(text: Text, file: str) -> Iterator[Header]:
    """Every ``word word(…) {`` and ``word word(…);``; bodies of functions are not looked into."""
    tokens = text.tokens
    scopes: list[tuple[str, ...]] = []
    start = index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text == "{":
            scopes.append(_scope_name(tokens[start:index]))
            start = index + 1
        elif token.text in ("}", ";"):
            if token.text == "}" and scopes:
                scopes.pop()
            start = index + 1
        elif token.text == "[":
            index = _closing(tokens, index)
        elif token.text == "(" and (name := _name_before(tokens, start, index)) is not None:
            end = _closing(tokens, index)
            path = tuple(part for names in scopes for part in names)
            after = _after_body(tokens, end)
            calls = frozenset(_calls(tokens[end:after]))
            yield replace(_header(text, (start, name, index, end), path, file), calls=calls)
            start = index = after
            continue
        index += 1


def _calls(body: Sequence[Token]) -> Iterator[str]:
    """Names before arguments, with generic arguments in between or not."""
    for token, following in pairwise(body):
        if token.kind == "word" and following.text in ("(", "<"):
            yield token.text


def _scope_name(tokens: Sequence[Token]) -> tuple[str, ...]:
    """What a brace belongs to: ``('ns', 'inner')`` for ``namespace ns.inner``, nothing for other blocks."""
    for index, token in enumerate(tokens):
        if token.text in _SCOPES:
            names = []
            for following in tokens[index + 1 :]:
                if following.kind == "word":
                    names.append(following.text)
                elif following.text not in (".", "::"):
                    break
            if token.text == "namespace":
                return tuple(names)
            mark = f"{token.text} " if token.text in _UNREFLECTED else ""
            return tuple(mark + name for name in names[:1])
    return ()


def _name_before(tokens: Sequence[Token], start: int, index: int) -> int | None:
    """The function's name before a parenthesis, if that is what it is: something must stand before the name."""
    if (operator := _operator_before(tokens, start, index)) is not None:
        return operator
    name = index - 1
    if name > start and tokens[name].text == ">":
        depth = 0
        while name > start:
            depth += {">": 1, "<": -1}.get(tokens[name].text, 0)
            name -= 1
            if not depth:
                break
    word = tokens[name] if name > start else None
    if word is None or word.kind != "word" or word.text in _NOT_NAMES:
        return None
    before = tokens[name - 1]
    return name if before.text in (">", "]", "*") or (before.kind == "word" and before.text not in _NOT_NAMES) else None


def _operator_before(tokens: Sequence[Token], start: int, index: int) -> int | None:
    """The word ``operator`` with nothing but marks between it and a parenthesis, and something before it."""
    word = index - 1
    while word > start and tokens[word].kind == "mark" and tokens[word].text not in ("]", ")", "}"):
        word -= 1
    return word if word > start and tokens[word].text == "operator" else None


def _closing(tokens: Sequence[Token], index: int) -> int:
    """The index of the bracket that closes the one at ``index``; the last token when none does."""
    waiting: list[str] = []
    for position in range(index, len(tokens)):
        text = tokens[position].text
        if text in _OPENED:
            waiting.append(_OPENED[text])
        elif waiting and text == waiting[-1]:
            waiting.pop()
        if not waiting:
            return position
    return len(tokens) - 1


def _after_body(tokens: Sequence[Token], end: int) -> int:
    """Where to go on after a header: behind the body's closing brace, or behind the semicolon."""
    for position in range(end + 1, len(tokens)):
        if tokens[position].text == "{":
            return _closing(tokens, position) + 1
        if tokens[position].text == ";":
            return position + 1
    return len(tokens)


def _header(text: Text, at: tuple[int, int, int, int], path: tuple[str, ...], file: str) -> Header:
    start, name, opening, end = at
    tokens = text.tokens
    attributes: list[str] = []
    words: list[str] = []
    index = start
    while index < name:
        if tokens[index].text == "[":
            closing = _closing(tokens, index)
            attributes += [t.text for t in tokens[index : min(closing, name)] if t.kind == "word"]
            index = closing
        elif tokens[index].kind == "word":
            words.append(tokens[index].text)
        index += 1
    is_operator = tokens[name].text == "operator"
    return Header(
        name="".join(token.text for token in tokens[name : opening if is_operator else name + 1]),
        path=path,
        params=tuple(declared_names(tokens[opening + 1 : end])),
        attributes=tuple(attributes),
        words=tuple(words),
        comments=tuple(_comments(text, tokens[start].line, tokens[name].line)),
        span=_span(tokens[name], file),
        types=tuple(_types(tokens[opening + 1 : end])),
        generic=(tokens[name + 1].text == "<" and not is_operator) or "__generic" in words,
    )


def declared_names(tokens: Sequence[Token]) -> Iterator[str]:
    """The names in a list of parameters or variables: the last word of each before its value, extents or semantic."""
    depth, done, name = 0, False, ""
    for token in tokens:
        depth += token.text in _NESTING
        if not depth and token.text == ",":
            yield name
            done, name = False, ""
        elif not depth and token.text in ("=", ":"):
            done = True
        elif not depth and not done and token.kind == "word":
            name = token.text
        depth -= token.text in _NESTING.values()
    if name:
        yield name


def _types(tokens: Sequence[Token]) -> Iterator[str]:
    """The types in a list of parameters, each ``float x : semantic = value`` or ``x : float = value``."""
    depth, done = 0, False
    own: list[Token] = []
    for token in tokens:
        depth += token.text in _NESTING
        if not depth and token.text == ",":
            yield _type(own)
            done, own = False, []
        elif not depth and token.text == ":" and len(own) == 1:
            own = []
        elif not depth and token.text in ("=", ":"):
            done = True
        elif not done and token.text not in _PASSING:
            own.append(token)
        depth -= token.text in _NESTING.values()
    if own:
        yield _type(own)


def _type(tokens: Sequence[Token]) -> str:
    """The type of one parameter, which may have no name; extents behind its name are part of it."""
    depth = name = 0
    for index, token in enumerate(tokens):
        depth += token.text in _NESTING
        if index and not depth and token.kind == "word" and tokens[index - 1].text not in _BEFORE_TYPES:
            name = index
        depth -= token.text in _NESTING.values()
    return _written([*tokens[:name], *tokens[name + 1 :]] if name else tokens)


def _written(tokens: Sequence[Token]) -> str:
    """Tokens as people write a type."""
    text = "".join(token.text for token in tokens[:1])
    for before, token in pairwise(tokens):
        apart = before.text == "," or before.kind == token.kind == "word"
        text += f" {token.text}" if apart else token.text
    return text


def _comments(text: Text, first: int, last: int) -> Iterator[Comment]:
    """The comment lines that end right above a header, then those inside it."""
    above = first
    while above - 1 in text.comments:
        above -= 1
    for line in range(above, last + 1):
        if line in text.comments:
            yield text.comments[line]


def whole_file(file: str) -> Span:
    """The span of something whose place in a file is not known."""
    return Span(file, 0, 0, 0, 0) if file else NOWHERE
