"""Scan a Slang text for the heads of functions, with their comments and attributes.

Slang's reflection lists the declarations of a file without their locations. The scan adds locations, comments and
hints. It does not evaluate preprocessor conditions, and it may take something else for a function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.slang_text.brackets import CLOSING_OF, closing
from slangad.compiler.slang_text.tokens import LineComment, Token, TokenizedText, read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_NOT_NAMES: Final = frozenset(["if", "for", "while", "switch", "catch", "else", "return", "do", "sizeof"])
_NESTING: Final = {**CLOSING_OF, "<": ">"}
_SCOPES: Final = frozenset(["struct", "class", "interface", "extension", "namespace", "enum"])
_UNREFLECTED: Final = frozenset({"extension", "class"})
"""Scopes whose methods reflection omits."""
CONSTRUCTOR: Final = "__init"
"""The name of constructors."""
_VISIBILITY: Final = frozenset(["public", "internal", "private", "module", "implementing"])
_PASSING: Final = frozenset(["in", "const", "uniform", "no_diff"])
"""Words before a parameter that are no part of the signature."""
_BEFORE_TYPES: Final = frozenset(["out", "inout", ".", "::"])
DIFFERENTIABLE: Final = frozenset(
    {"Differentiable", "BackwardDifferentiable", "ForwardDifferentiable", "BackwardDerivative", "ForwardDerivative"}
)
"""Attributes of functions that can be differentiated."""
DERIVATIVE_OF: Final = frozenset(["BackwardDerivativeOf", "ForwardDerivativeOf", "PrimalSubstituteOf"])


@dataclass(frozen=True, slots=True)
class Header:
    """The head of a function.

    Attributes:
        name: Its name, such as ``shade`` or ``operator+``.
        path: Its namespaces and structs, found by braces. An extension appears as ``extension Name``.
        params: The names of its parameters.
        types: Their types as written, with ``out`` and ``inout``.
        generic: True if it has generic parameters.
        attributes: The words of the attributes before it, such as ``Differentiable``.
        words: Every other word before its name: modifiers, its type, macros.
        comments: The comment lines directly above it, and those inside its head.
        span: The location of its name.
        calls: Every name in its body with arguments behind it.
    """

    name: str
    path: tuple[str, ...]
    params: tuple[str, ...]
    attributes: tuple[str, ...]
    words: tuple[str, ...]
    comments: tuple[LineComment, ...]
    span: Span
    calls: frozenset[str] = frozenset()
    types: tuple[str, ...] = ()
    generic: bool = False

    @property
    def signature(self) -> str:
        """Its parameter types, which distinguish it from its overloads: ``(float3, inout float)``."""
        return f"({', '.join(self.types)})"

    def has_types(self, types: tuple[str, ...]) -> int:
        """Return the number of parameters that have these types by the same names."""
        return sum(own.split()[-1:] == [other] for own, other in zip(self.types, types, strict=False))

    @property
    def called(self) -> str:
        """The name by which text calls it: its own, for a constructor that of its type."""
        return self.path[-1].split()[-1] if self.name == CONSTRUCTOR and self.path else self.name


@dataclass(frozen=True, slots=True)
class Scan:
    """The heads and hints of one text.

    Attributes:
        file: The name of the file in spans.
        headers: The heads of its functions, those without a body too.
        words: The first location of every word.
        directives: Its preprocessor lines without ``#``.
        derivatives_of: By function, the attributes that others give it (``BackwardDerivativeOf`` gives
            ``BackwardDerivative``).
        begins: Its first two tokens.
    """

    file: str
    headers: tuple[Header, ...]
    words: dict[str, Span]
    directives: tuple[Token, ...]
    derivatives_of: dict[str, frozenset[str]]
    begins: tuple[str, ...]

    @property
    def is_part(self) -> bool:
        """True if it is a part of a module with another main file."""
        return self.begins[:1] == ("implementing",)

    @property
    def unreflected(self) -> tuple[Header, ...]:
        """The differentiable methods that reflection omits."""
        return tuple(
            header
            for header in self.headers
            if not DIFFERENTIABLE.isdisjoint(self.attributes_of(header))
            and "".join(header.path[-1:]).partition(" ")[0] in _UNREFLECTED
        )

    @property
    def controls_visibility(self) -> bool:
        """True if some of its declarations may be hidden from importers."""
        dialect = any(directive.text.startswith(("lang", "version")) for directive in self.directives)
        return dialect or any(word in self.words for word in _VISIBILITY)

    @property
    def has_entry_points(self) -> bool:
        """True if it has entry points."""
        return any("shader" in header.attributes for header in self.headers)

    @property
    def defines(self) -> Iterator[tuple[str, tuple[Token, ...]]]:
        """The macros that it defines, each with the tokens behind its name."""
        for directive in self.directives:
            word, _, rest = directive.text.partition(" ")
            tokens = read_text(rest).tokens if word == "define" else ()
            if tokens:
                yield tokens[0].text, tokens[1:]

    def find(
        self,
        name: str,
        path: tuple[str, ...],
        params: tuple[str, ...],
        which: tuple[int, int] = (0, 1),
        *,
        types: tuple[str, ...] = (),
        generic: bool = False,
        hidden: Collection[int] = (),
    ) -> Header | None:
        """Return the header of a function, the most similar one if there are several.

        Args:
            name: Its name.
            path: Its namespaces and structs.
            params: The names of its parameters.
            which: Its number among the differentiable functions with the same of all this, and their count.
            types: The types of its parameters. A text may have other names for them.
            generic: True if it has generic parameters.
            hidden: Lines that conditions hide. A header in one is taken if there is no other.
        """

        def likeness(header: Header) -> tuple[bool, bool, bool, int]:
            return header.path == path, header.generic == generic, header.params == params, header.has_types(types)

        named = [header for header in self.headers if header.name == name]
        named = [header for header in named if header.span.line not in hidden] or named
        best = max(map(likeness, named), default=None)
        alike = [header for header in named if likeness(header) == best]
        marked = [header for header in alike if "Differentiable" in header.attributes]
        number, count = which
        numbered = next((headers for headers in (marked, alike) if len(headers) == count), alike[:1])
        return numbered[min(number, len(numbered) - 1)] if numbered else None

    def attributes_of(self, header: Header) -> frozenset[str]:
        """Return the attributes of a function, those included that its derivatives give it."""
        return self.derivatives_of.get(header.name, frozenset()).union(header.attributes)


def scan_text(source: str, file: str) -> Scan:
    """Scan a text. ``file`` is its name in spans."""
    return scan(read_text(source), file)


def scan(text: TokenizedText, file: str) -> Scan:
    """Scan the tokens of a text."""
    words: dict[str, Span] = {}
    for token in text.tokens:
        if token.kind == "word":
            words.setdefault(token.text, token.span(file))
    return Scan(
        file=file,
        headers=tuple(_headers(text, file)),
        words=words,
        directives=text.directives,
        derivatives_of=_derivatives_of(text.tokens),
        begins=tuple(token.text for token in text.tokens[:2]),
    )


def _derivatives_of(tokens: Sequence[Token]) -> dict[str, frozenset[str]]:
    """Return by function the attributes that ``[BackwardDerivativeOf(f)]`` and its like give to ``f``."""
    result: dict[str, frozenset[str]] = {}
    for index, token in enumerate(tokens):
        if token.text in DERIVATIVE_OF:
            inside = tokens[index + 2 : closing(tokens, index + 1)]
            for name in [t.text for t in inside if t.kind == "word"][-1:]:
                result[name] = result.get(name, frozenset()) | {token.text.removesuffix("Of")}
    return result


def _headers(text: TokenizedText, file: str) -> Iterator[Header]:
    """Yield a header for every ``word word(…) {`` and ``word word(…);`` outside of bodies."""
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
            index = closing(tokens, index)
        elif token.text == "(" and (name := _name_before(tokens, start, index)) is not None:
            path = tuple(part for names in scopes for part in names)
            after = _after_body(tokens, closing(tokens, index))
            start, name, index = _marked_head(text, (start, name, index), after)
            end = closing(tokens, index)
            calls = frozenset(_calls(tokens[end:after]))
            yield replace(_header(text, (start, name, index, end), path, file), calls=calls)
            start = index = after
            continue
        index += 1


def _marked_head(text: TokenizedText, head: tuple[int, int, int], after: int) -> tuple[int, int, int]:
    """Return the head of a function: first token, name and parenthesis.

    Conditions of the preprocessor may put several heads before one body. Return the first differentiable one then.
    """
    tokens = text.tokens
    opening = next((k for k in range(head[2], after) if tokens[k].text == "{"), after - 1)
    lines = [d.line for d in text.directives if tokens[head[1]].line < d.line < tokens[opening].line]
    heads = [head]
    for line in lines:
        start = next(k for k in range(head[1], after) if tokens[k].line > line)
        parenthesis = next(
            (k for k in range(start, opening) if tokens[k].text == "(" and not _in_brackets(tokens[start:k])), None
        )
        name = None if parenthesis is None else _name_before(tokens, start, parenthesis)
        if parenthesis is not None and name is not None:
            heads.append((start, name, parenthesis))
    return next((one for one in heads if _is_marked(tokens[one[0] : one[1]])), head)


def _in_brackets(tokens: Sequence[Token]) -> bool:
    """Return True if a bracket is open behind some tokens."""
    return sum((token.text == "[") - (token.text == "]") for token in tokens) > 0


def _is_marked(tokens: Sequence[Token]) -> bool:
    """Return True if attributes among some tokens make a function differentiable."""
    return any(token.text in DIFFERENTIABLE for token in tokens)


def _calls(body: Sequence[Token]) -> Iterator[str]:
    """Yield the names before arguments, with or without generic arguments in between."""
    for token, following in pairwise(body):
        if token.kind == "word" and following.text in ("(", "<"):
            yield token.text


def _scope_name(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the scope that a brace opens: ``('ns', 'inner')`` for ``namespace ns.inner``, () for other blocks."""
    for index, token in enumerate(tokens):
        if token.text in _SCOPES:
            names = []
            for following in tokens[_after_generics(tokens, index + 1) :]:
                if following.kind == "word":
                    names.append(following.text)
                elif following.text not in (".", "::"):
                    break
            if token.text == "namespace":
                return tuple(names)
            mark = f"{token.text} " if token.text in _UNREFLECTED else ""
            return tuple(mark + name for name in names[:1])
    return ()


def _after_generics(tokens: Sequence[Token], start: int) -> int:
    """Return the token after generic parameters that begin at a token, as in ``extension<T : IFoo> T``."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += {"<": 1, ">": -1}.get(tokens[index].text, 0)
        if not depth:
            return index + (tokens[index].text == ">")
    return start


def _name_before(tokens: Sequence[Token], start: int, index: int) -> int | None:
    """Return the token of a function's name before a parenthesis, or None.

    A name needs a word before it, unless it is that of a constructor.
    """
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
    if name == start and tokens[name].text == CONSTRUCTOR:
        return name
    word = tokens[name] if name > start else None
    if word is None or word.kind != "word" or word.text in _NOT_NAMES:
        return None
    before = tokens[name - 1]
    return name if before.text in (">", "]", "*") or (before.kind == "word" and before.text not in _NOT_NAMES) else None


def _operator_before(tokens: Sequence[Token], start: int, index: int) -> int | None:
    """Return the word ``operator`` if only marks stand between it and a parenthesis, and something stands before it.

    Generic parameters may stand behind the marks.
    """
    word, depth = index - 1, 0
    for k in range(index - 1, start, -1) if tokens[word].text == ">" else ():
        depth += (tokens[k].text == ">") - (tokens[k].text == "<")
        if not depth or tokens[k].text == "operator":
            word = word if depth else k - 1
            break
    while word > start and tokens[word].kind == "mark" and tokens[word].text not in ("]", ")", "}"):
        word -= 1
    return word if word > start and tokens[word].text == "operator" else None


def _after_body(tokens: Sequence[Token], end: int) -> int:
    """Return the token behind a function: behind its body's brace, or behind the semicolon."""
    for position in range(end + 1, len(tokens)):
        if tokens[position].text == "{":
            return closing(tokens, position) + 1
        if tokens[position].text == ";":
            return position + 1
    return len(tokens)


def _header(text: TokenizedText, at: tuple[int, int, int, int], path: tuple[str, ...], file: str) -> Header:
    start, name, opening, end = at
    tokens = text.tokens
    attributes: list[str] = []
    words: list[str] = []
    index = start
    while index < name:
        if tokens[index].text == "[":
            end_of = closing(tokens, index)
            attributes += [t.text for t in tokens[index : min(end_of, name)] if t.kind == "word"]
            index = end_of
        elif tokens[index].kind == "word":
            words.append(tokens[index].text)
        index += 1
    return Header(
        name="".join(token.text for token in tokens[name : _behind_name(tokens, name, opening)]),
        path=path,
        params=tuple(declared_names(tokens[opening + 1 : end])),
        attributes=tuple(attributes),
        words=tuple(words),
        comments=tuple(_comments(text, tokens[start].line, tokens[name].line)),
        span=tokens[name].span(file),
        types=tuple(types_of(tokens[opening + 1 : end])),
        generic=tokens[_behind_name(tokens, name, opening)].text == "<" or "__generic" in words,
    )


def _behind_name(tokens: Sequence[Token], name: int, opening: int) -> int:
    """Return the token behind a function's name: one of a parenthesis or of generic parameters."""
    if tokens[name].text != "operator":
        return name + 1
    words = (k for k in range(name + 1, opening) if tokens[k].kind != "mark")
    first = next(words, None)
    return opening if first is None else max(k for k in range(name + 1, first) if tokens[k].text == "<")


def declared_names(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the names in a list of parameters or variables.

    A name is the last word before a value, extents or a semantic.
    """
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
        depth = max(0, depth - (token.text in _NESTING.values()))
    if name:
        yield name


def types_of(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the types in a list of parameters, each ``float x : semantic = value`` or ``x : float = value``."""
    depth, done = 0, False
    tokens_here: list[Token] = []
    for token in tokens:
        depth += token.text in _NESTING
        if not depth and token.text == ",":
            yield _type(tokens_here)
            done, tokens_here = False, []
        elif not depth and token.text == ":" and len(tokens_here) == 1:
            tokens_here = []
        elif not depth and token.text in ("=", ":"):
            done = True
        elif not done and token.text not in _PASSING:
            tokens_here.append(token)
        depth -= token.text in _NESTING.values()
    if tokens_here:
        yield _type(tokens_here)


def _type(tokens: Sequence[Token]) -> str:
    """Return the type of one parameter, with or without a name. Extents behind the name are part of the type."""
    depth = name = 0
    for index, token in enumerate(tokens):
        depth += token.text in _NESTING
        if index and not depth and token.kind == "word" and tokens[index - 1].text not in _BEFORE_TYPES:
            name = index
        depth -= token.text in _NESTING.values()
    return _written([*tokens[:name], *tokens[name + 1 :]] if name else tokens)


def _written(tokens: Sequence[Token]) -> str:
    """Return tokens as people write a type."""
    text = "".join(token.text for token in tokens[:1])
    for before, token in pairwise(tokens):
        apart = before.text == "," or before.kind == token.kind == "word"
        text += f" {token.text}" if apart else token.text
    return text


def _comments(text: TokenizedText, first: int, last: int) -> Iterator[LineComment]:
    """Yield the comment lines that end right above a header, then those inside it."""
    above = first
    while above - 1 in text.comments:
        above -= 1
    for line in range(above, last + 1):
        if line in text.comments:
            yield text.comments[line]


def whole_file(file: str) -> Span:
    """Return the span of something at an unknown location in a file."""
    return Span(file, 0, 0, 0, 0) if file else NOWHERE
