"""Find differentiable functions that Slang's reflection neither lists nor finds by name, with generic arguments.

These are constructors, the methods of generic extensions, and the generic methods of all extensions. Slang reads a copy
of the text with a function for each of them at the end, and reflects that:

    float2 slangad_unreflected_0(Elu<float, 2> self_, float2 x) { return self_.forward(x); }
    Ray<float> slangad_unreflected_1(float3 from, float3 to) { return Ray<float>(from, to); }
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.frontends.slang.arguments import thinned
from slangad.compiler.frontends.slang.functions import Candidate
from slangad.compiler.frontends.slang.generics import GenericParameter, arguments_at, read_parameter
from slangad.compiler.frontends.slang.locations import FunctionLocation
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.brackets import closing, until
from slangad.compiler.slang_text.headers import CONSTRUCTOR
from slangad.compiler.slang_text.tokens import Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.frontends.slang.arguments import Row, Surroundings
    from slangad.compiler.frontends.slang.locations import SourceFiles
    from slangad.compiler.frontends.slang.reflected import DeclaredStruct, ReflectedModule
    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.headers import Header

    Reader = Callable[[str], ReflectedModule]

_PREFIX: Final = "slangad_unreflected_"
_SELF: Final = "self_"
_EXTENSION: Final = "extension"
_STRUCTS: Final = ("struct", "class", _EXTENSION)
_NO_TYPES: Final = frozenset({"public", "internal", "private", "static", "inline", "override", "const", "export"})
"""Words before the type of a result that are no part of it."""
_TRIED: Final = 64
"""Most rows of arguments that are considered for one method."""
_ROUNDS: Final = 4
"""Most readings of the text. Each leaves out the functions that Slang refused in the one before."""
_TIGHT: Final = re.compile(r"\s*(::|[<>.,\[\]()])\s*")


@dataclass(frozen=True, slots=True)
class Unreflected:
    """A function that reflection omits.

    Attributes:
        target: The tokens of the extended type, or of the constructed one.
        result: The tokens of its type.
        parameters: The tokens of its parameters.
        generic: The generic parameters of the type and of the function, by name.
        of_function: The number of those of the function, which are the last ones.
        scopes: The namespaces around it.
    """

    header: Header
    target: Sequence[Token]
    result: Sequence[Token]
    parameters: Sequence[Token]
    generic: Mapping[str, GenericParameter]
    of_function: int
    scopes: tuple[str, ...]

    @property
    def is_constructor(self) -> bool:
        """True if it makes a value of its type."""
        return self.header.name == CONSTRUCTOR


class _Instance(NamedTuple):
    """A function with arguments."""

    method: Unreflected
    row: Row

    @property
    def symbol(self) -> str:
        """Its qualified name: ``ns.Elu<float, 2>.forward``."""
        return f"{self.type}.{self.name}"

    @property
    def type(self) -> str:
        """The qualified name of its type: ``ns.Elu<float, 2>``."""
        target = _TIGHT.sub(r"\1", " ".join(self._with_arguments(self.method.target))).replace(",", ", ")
        return ".".join((*self.method.scopes, target))

    @property
    def name(self) -> str:
        """The name of the method with its own arguments."""
        arguments = self.row[len(self.row) - self.method.of_function :]
        return f"{self.method.header.name}<{', '.join(arguments)}>" if arguments else self.method.header.name

    @property
    def call(self) -> str:
        """The expression that calls it with values in place of ``{0}``, ``{1}`` and so on."""
        header, static = self.method.header, self.is_static
        values = ", ".join(f"{{{k + (not static)}}}" for k in range(len(header.params)))
        if self.method.is_constructor:
            return f"{self.type}({values})"
        return f"{self.symbol if static else f'{{0}}.{self.name}'}({values})"

    @property
    def is_static(self) -> bool:
        """True if it has no object."""
        return "static" in self.method.header.words or self.method.is_constructor

    def text(self, number: int) -> str:
        """Return a function that calls it, on one line."""
        method = self.method
        result, target, params = (
            " ".join(self._with_arguments(tokens)) for tokens in (method.result, method.target, method.parameters)
        )
        marks = method.header.attributes
        how = "inout " if "mutating" in marks else "no_diff " if "NoDiffThis" in marks else ""
        names = list(method.header.params)
        called = target if method.is_constructor else f"{target if self.is_static else _SELF}.{self.name}"
        every = ", ".join(filter(None, ("" if self.is_static else f"{how}{target} {_SELF}", params)))
        back = "" if result == "void" else "return "
        body = f"{result} {_PREFIX}{number}({every}) {{ {back}{called}({', '.join(names)}); }}"
        opened = "".join(f"namespace {scope} {{ " for scope in method.scopes)
        return f"{opened}[Differentiable] {body}{' }' * len(method.scopes)}"

    def _with_arguments(self, tokens: Sequence[Token]) -> Iterator[str]:
        arguments = dict(zip(self.method.generic, self.row, strict=True))
        if tokens is not self.method.target:
            arguments["This"] = " ".join(self._with_arguments(self.method.target))
        for k, token in enumerate(tokens):
            is_member = k > 0 and tokens[k - 1].text in (".", "::")
            yield token.text if is_member else arguments.get(token.text, token.text)


@dataclass(frozen=True, slots=True)
class Instances:
    """Methods with arguments, symbols with other arguments that are not used, and the structs in their types."""

    candidates: tuple[Candidate, ...] = ()
    unused: tuple[str, ...] = ()
    structs: Mapping[str, DeclaredStruct] = field(default_factory=dict)


def unreflected_functions(files: SourceFiles, read: Reader, most: tuple[int, int]) -> Instances:
    """Return the methods with arguments that Slang accepts.

    Args:
        files: The files of the module.
        read: Reads the module with a text in place of that of its main file.
        most: The most instances of one method, and of all methods if one each is not more.
    """
    methods = [
        one for scan in files.kernel_scans for one in unreflected_of(read_source(files.text_of(scan), scan.file))
    ]
    rows = [(one, _rows(one, files.surroundings)) for one in methods]
    limit, of_all = most
    while limit > 1 and sum(min(limit, len(row)) for _, row in rows) > of_all:
        limit //= 2
    chosen = [(method, every, thinned(every, limit)) for method, every in rows]
    declared, accepted = _accepted(
        [_Instance(one, row) for one, _, rows in chosen for row in rows], files.text.text, read
    )
    if declared is None:
        return Instances()
    known = {function.name: function for function in declared.functions}
    pairs = [(known.get(f"{_PREFIX}{number}"), instance) for number, instance in accepted.items()]
    candidates = tuple(
        Candidate(
            replace(function, name=one.method.header.name, path=one.method.header.path, owner="", static=True),
            one.symbol,
            FunctionLocation(one.method.header.span, one.method.header),
            lost=files.lost_forward(one.method.header),
            call=one.call,
        )
        for function, one in pairs
        if function is not None
    )
    unused = (_Instance(one, row).symbol for one, every, rows in chosen for row in every if row not in rows)
    return Instances(candidates, tuple(unused), declared.structs)


def unreflected_of(source: SlangSource) -> Iterator[Unreflected]:
    """Yield the differentiable functions of a text that reflection omits, and that ``adapted`` does not find."""
    for function in source.functions:
        made = function.header.name == CONSTRUCTOR
        extends = "".join(function.header.path[-1:]).startswith(f"{_EXTENSION} ")
        if (made or extends) and source.is_differentiable(function):
            instances = _unreflected(source, function)
            if instances is not None and (made or instances.generic):
                yield instances


def _unreflected(source: SlangSource, function: SlangFunction) -> Unreflected | None:
    tokens = source.tokens
    types, scopes = _surrounding(tokens, function.first)
    of_function, rest = _split(tokens[function.name_token + 1 : function.opening])
    if not types or len(rest) < 2 or rest[0].text != "(" or "func" in function.header.words:
        return None
    target = types[-1].target
    for outer in types[-2::-1]:
        target = [*outer.target, _DOT, *target]
    made = function.header.name == CONSTRUCTOR
    return Unreflected(
        function.header,
        target,
        target if made else tuple(_type(tokens[function.first : function.name_token])),
        rest[1 : closing(rest, 0)],
        {
            _name(one): read_parameter(one, behind)
            for ones, behind in (*((one.generic, one.behind) for one in types), (of_function, rest))
            for one in ones
        },
        len(of_function),
        scopes,
    )


class _Type(NamedTuple):
    """The head of a type or an extension: the type, its generic parameters, and the tokens behind."""

    target: Sequence[Token]
    generic: list[list[Token]]
    behind: Sequence[Token]


def _surrounding(tokens: Sequence[Token], index: int) -> tuple[list[_Type], tuple[str, ...]]:
    """Return the types around a token and the namespaces around these, outermost first; no types if that fails."""
    types: list[_Type] = []
    scopes: list[str] = []
    for head in _heads_around(tokens, index):
        names = [token.text for token in head]
        word = next((one for one in (*_STRUCTS, "namespace") if one in names), "")
        rest = head[names.index(word) + 1 :] if word else []
        if word == "namespace":
            scopes[:0] = [token.text for token in rest if token.kind == "word"]
        elif word == _EXTENSION:
            generic, target = _split(rest)
            types.insert(0, _Type(until(target, ":", "where"), generic, target))
        elif word and not scopes:
            generic, behind = _split(rest[1:])
            types.insert(0, _Type([*rest[:1], *_listed(generic)], generic, behind))
        else:
            return [], ()
    return types, tuple(scopes)


def _heads_around(tokens: Sequence[Token], index: int) -> Iterator[Sequence[Token]]:
    """Yield the tokens before each brace around a token, innermost first."""
    depth = 0
    for k in range(index - 1, -1, -1):
        depth += (tokens[k].text == "}") - (tokens[k].text == "{")
        if depth < 0:
            depth, start = 0, k
            while start and tokens[start - 1].text not in (";", "{", "}"):
                start -= 1
            yield tokens[start:k]


def _listed(generic: list[list[Token]]) -> Iterator[Token]:
    """Yield the generic parameters of a type as its arguments: ``<T, N>`` for ``<T : IFloat, let N : int>``."""
    for k, parameter in enumerate(generic):
        yield _mark("," if k else "<")
        yield replace(parameter[0], kind="word", text=_name(parameter))
    if generic:
        yield _mark(">")


def _mark(text: str) -> Token:
    return Token("mark", text, 0, 0)


_DOT: Final = _mark(".")


def _split(tokens: Sequence[Token]) -> tuple[list[list[Token]], Sequence[Token]]:
    """Return the generic parameters at the beginning of some tokens, and the rest."""
    if not tokens or tokens[0].text != "<":
        return [], tokens
    depth = 0
    for k, token in enumerate(tokens):
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if not depth:
            return [*arguments_at(tokens, 0)], tokens[k + 1 :]
    return [], tokens


def _name(parameter: Sequence[Token]) -> str:
    """Return the name of a generic parameter: the last word before a colon or a default."""
    return next((token.text for token in reversed(until(parameter, ":", "=")) if token.kind == "word"), "")


def _type(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens of a type among attributes and modifiers."""
    k = 0
    while k < len(tokens):
        if tokens[k].text == "[" and (k == 0 or tokens[k - 1].text in ("]", "[") or tokens[k - 1].text in _NO_TYPES):
            k = closing(tokens, k)
        elif tokens[k].text not in _NO_TYPES:
            yield tokens[k]
        k += 1


def _rows(method: Unreflected, surroundings: Surroundings) -> list[Row]:
    """Return rows of arguments: those with which the files use the extended type, then others."""
    name = method.target[0].text if method.target else ""
    inside = [token.text for token in method.target[2:-1] if token.text != ","]
    used = surroundings.uses.get(name, {}) if inside == [*method.generic] else {}
    plain = [row for row in used if len(row) == len(inside) and not {*row} & {*method.generic}]
    values = (surroundings.values(one) for one in method.generic.values())
    return list(dict.fromkeys(islice(chain(plain, product(*values)), _TRIED)))


def _accepted(
    instances: Iterable[_Instance], text: str, read: Reader
) -> tuple[ReflectedModule | None, dict[int, _Instance]]:
    """Return the module with functions for the instances that Slang accepts, and these by their numbers."""
    waiting = dict(enumerate(instances))
    first = text.count("\n") + 2
    for _ in range(_ROUNDS):
        if not waiting:
            break
        try:
            return read("\n".join((text, *(one.text(number) for number, one in waiting.items())))), waiting
        except ToolchainError:
            break
        except CompileError as error:
            lines = {diagnostic.span.line - first for diagnostic in error.diagnostics}
            good = {k: one for line, (k, one) in enumerate(waiting.items()) if line not in lines}
            if len(good) == len(waiting):
                break
            waiting = good
    return None, {}
