"""Choose arguments for generic functions: those that the files use, or a few of each kind.

Nothing here is certain. Slang decides which arguments a function takes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise, product
from typing import TYPE_CHECKING, Final, TypeAlias

from slangad.compiler.frontends.slang.generics import (
    BOOL,
    NUMBER,
    TYPE,
    GenericParameter,
    arguments_at,
    parameters_of,
)
from slangad.compiler.slang_text.brackets import until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.tokens import Token

Row: TypeAlias = "tuple[str, ...]"
"""The arguments of one instance, of all generic parts of its name."""

_TRIED: Final = 64
"""Most argument lists that Slang is asked about for one function."""
_OF_TYPES: Final = 2
"""Most structs of the file for a parameter that may be any differentiable type, and instances of a generic struct."""
_TYPES: Final = frozenset({"struct", "class", "enum", "extension", "interface"})
_IN_ARGUMENTS: Final = frozenset({".", "::", "<", ">", ",", "-", "+", "*"})


@dataclass(slots=True)
class Surroundings:
    """The facts about types in the files of a module.

    Attributes:
        texts: The tokens of each file, the module's own first.
        uses: By name, the arguments with which the files use a generic function or struct.
        bases: By type, the words behind the colon of its declaration or extension.
        interfaces: The names of interfaces.
        generic: The names of generic types.
        cases: By enum, its enumerators.
        own_structs: The structs of the module's own file.
        structs: The structs that have a body in these files.
        aliases: The words that a ``typealias`` replaces.
    """

    texts: Sequence[Sequence[Token]]
    uses: dict[str, dict[Row, None]] = field(default_factory=lambda: defaultdict(dict))
    bases: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    interfaces: set[str] = field(default_factory=set)
    generic: set[str] = field(default_factory=set)
    cases: dict[str, list[str]] = field(default_factory=dict)
    own_structs: list[str] = field(default_factory=list)
    structs: set[str] = field(default_factory=set)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for tokens in self.texts:
            self._read(tokens)

    def _read(self, tokens: Sequence[Token]) -> None:
        scopes: list[str] = []
        start = 0
        for k, token in enumerate(tokens[:-1]):
            if token.text in (";", "{", "}"):
                if token.text == "{":
                    scopes.append(_namespace(tokens[start:k]))
                elif token.text == "}" and scopes:
                    scopes.pop()
                start = k + 1
            elif token.text in _TYPES and tokens[k + 1].kind == "word":
                self._add_type(tokens, k, "".join(f"{scope}." for scope in scopes if scope))
            elif token.text == "typealias" and tokens[k + 2 : k + 3] and tokens[k + 2].text == "=":
                words = (one.text for one in until(tokens[k + 3 :], ";") if one.kind == "word")
                self.aliases[tokens[k + 1].text] = tuple(words)
            elif token.kind == "word" and tokens[k + 1].text == "<":
                row = _row(tokens, k + 1)
                if row:
                    self.uses[token.text][row] = None

    def _add_type(self, tokens: Sequence[Token], k: int, scope: str) -> None:
        name = scope + tokens[k + 1].text
        head = until(tokens[k + 2 :], "{", ";")
        names = [token.text for token in head]
        bases = names.index(":") if ":" in names else len(names)
        self.bases[name].update(token.text for token in head[bases:] if token.kind == "word")
        if tokens[k].text == "interface":
            self.interfaces.add(name)
        elif names[:1] == ["<"]:
            self.generic.add(name)
        elif tokens is self.texts[0] and tokens[k].text == "struct":
            self.own_structs.append(name)
        if tokens[k].text == "struct" and tokens[k - 1].text != "extern" and "=" not in names:
            self.structs.add(name)
        if tokens[k].text == "enum" or tokens[k - 1].text == "enum":
            body = until(tokens[k + 2 + len(head) :], "}")
            self.cases[name] = [b.text for a, b in pairwise(body) if a.text in ("{", ",")]

    def is_empty(self, name: str) -> bool:
        """Return True if a struct without known fields has none: it is declared here and inherits from no struct."""
        return name in self.structs and not self.base_structs(name)

    def base_structs(self, name: str) -> set[str]:
        """Return the structs from which a struct inherits."""
        return self.bases[name] & self.structs

    def inherits(self, name: str, base: str) -> bool:
        """Return True if an interface inherits from another one."""
        bases = self.bases[name]
        return base in bases or any(self.inherits(one, base) for one in bases & self.interfaces - {name})

    def conforming(self, interface: str) -> Iterator[str]:
        """Yield the types that declare an interface, or one that inherits from it."""
        derived = {interface}
        while grown := {name for name in self.interfaces - derived if self._declares(name, derived)}:
            derived |= grown
        for name in self.bases:
            if name not in self.interfaces and self._declares(name, derived):
                yield from self._instances(name) if name in self.generic else (name,)

    def _instances(self, name: str) -> list[str]:
        """Return a few instances of a generic type; none of one whose own arguments are being chosen."""
        if name in self._open:
            return []
        self._open.add(name)
        rows = [*islice(self._used(name, None) or self._unused(name, None), _OF_TYPES)]
        self._open.discard(name)
        return [f"{name}<{', '.join(row)}>" for row in rows]

    def _declares(self, name: str, interfaces: set[str]) -> bool:
        return not self.bases[name].isdisjoint(word.rpartition(".")[2] for word in interfaces)

    def candidates(self, pattern: str, span: Span | None) -> tuple[dict[str, Row], dict[str, Row]]:
        """Return instances of a generic function, each with its arguments: those that the files use, then others.

        Args:
            pattern: Its qualified name with ``<>`` in place of arguments.
            span: The location of its name in the first text, if it stands there.
        """
        places = _places(pattern, span)
        used = [[*(self._used(*place) or self._unused(*place))] for place in places]
        unused = [[*self._unused(*place)] for place in places]
        first, second = ({tuple(chain(*rows)): rows for rows in product(*one)} for one in (used, unused))
        return _named(pattern, first), _named(pattern, second)

    def lacking(self, pattern: str, span: Span | None) -> Iterator[str]:
        """Yield the interfaces of a generic function's parameters to which no type conforms."""
        for place in _places(pattern, span):
            for one in parameters_of(*place, self.texts):
                bound_found = next((bound for bound in one.bounds if self._is_interface(bound)), None)
                if one.kind == TYPE and bound_found is not None and not self.values(one):
                    yield bound_found

    def _used(self, name: str, span: Span | None) -> tuple[Row, ...]:
        """Return arguments with the types and numbers that the files use."""
        parameters = parameters_of(name, span, self.texts)
        rows = [row for row in self.uses.get(name, ()) if len(row) == len(parameters)]
        columns = [
            [self.values(p) if self._is_tried_anyway(p) else (one,) for p, one in zip(parameters, row, strict=True)]
            for row in rows
        ]
        return tuple(dict.fromkeys(row for one in columns for row in product(*one)))

    def _unused(self, name: str, span: Span | None) -> Iterator[Row]:
        return product(*(self.values(one) for one in parameters_of(name, span, self.texts)))

    def _is_tried_anyway(self, parameter: GenericParameter) -> bool:
        """Return True if all values of a parameter are tried, whether the files use them or not."""
        return parameter.kind == BOOL or any(bound in self.interfaces for bound in parameter.bounds)

    def values(self, parameter: GenericParameter) -> Row:
        """Return arguments for one parameter."""
        meant = (word for bound in parameter.bounds for word in self.aliases.get(bound, (bound,)))
        parameter = replace(parameter, bounds=tuple(meant))
        if parameter.kind != TYPE:
            cases = tuple(f"{parameter.kind}.{case}" for case in self.cases.get(parameter.kind, ()))
            return {BOOL: ("false", "true"), NUMBER: ("1", "2", "3", "4")}.get(parameter.kind, cases)
        interface = next((bound for bound in parameter.bounds if self._is_interface(bound)), None)
        if interface is not None:
            return tuple(self.conforming(interface))
        if "IDifferentiable" in parameter.bounds:
            return ("float", *[one for one in self.own_structs if "IDifferentiable" in self.bases[one]][:_OF_TYPES])
        return (parameter.builtin,) if parameter.builtin else ()

    def _is_interface(self, word: str) -> bool:
        return any(name.rpartition(".")[2] == word for name in self.interfaces)


def _places(pattern: str, span: Span | None) -> list[tuple[str, Span | None]]:
    """Return the generic parts of a name, the last one with its location."""
    parts = pattern.split(".")
    return [(part.removesuffix("<>"), span if part is parts[-1] else None) for part in parts if "<" in part]


def _named(pattern: str, rows: dict[Row, tuple[Row, ...]]) -> dict[str, Row]:
    """Return arguments by the name with them: ``Table<float, 4>.first``; ``rows`` has them by parts of the name too."""
    return {_filled(pattern, rows[row]): row for row in thinned(rows, _TRIED)}


def _filled(pattern: str, rows: Iterable[Row]) -> str:
    waiting = iter(rows)
    parts = (f"{p[:-2]}<{', '.join(next(waiting))}>" if p.endswith("<>") else p for p in pattern.split("."))
    return ".".join(parts)


def thinned(rows: Iterable[Row], most: int) -> tuple[Row, ...]:
    """Return at most so many rows, with every value of every column if possible."""
    every = list(dict.fromkeys(rows))
    if len(every) <= most:
        return tuple(every)
    missing = {pair for row in every for pair in enumerate(row)}
    chosen: set[Row] = set()
    while missing and len(chosen) < most:
        best = max(every, key=lambda row: len(missing.intersection(enumerate(row))))
        chosen.add(best)
        missing -= {*enumerate(best)}
    return tuple(row for row in every if row in chosen)


def _namespace(tokens: Sequence[Token]) -> str:
    """Return the namespace that a brace opens: ``a.b``; empty for other blocks."""
    words = [token.text for token in tokens if token.kind == "word"]
    return ".".join(words[1:]) if words[:1] == ["namespace"] else ""


def _written(tokens: Sequence[Token]) -> str:
    return "".join(f"{token.text} " if token.text == "," else token.text for token in tokens)


def _row(tokens: Sequence[Token], start: int) -> Row:
    """Return the arguments in brackets of a use; empty if these are no arguments, or declare parameters."""
    arguments = list(arguments_at(tokens[: start + 64], start))
    plain = all(t.kind in ("word", "number") or t.text in _IN_ARGUMENTS for one in arguments for t in one)
    return tuple(_written(one) for one in arguments) if plain and all(arguments) else ()
