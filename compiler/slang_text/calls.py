"""Build the call graph of Slang files: a function and everything that its gradient uses, as tokens.

The graph follows calls by name, custom derivatives, macros and the operators that a function may use.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import NOWHERE
from slangad.compiler.ir.calls import closure
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of
from slangad.compiler.slang_text.operators import Operators, is_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.tokens import Token

CUSTOM: Final = frozenset({"BackwardDerivative", "ForwardDerivative"})
"""The attributes by which a function names its custom derivatives."""
_HAS_FORWARD: Final = frozenset(
    {"Differentiable", "BackwardDifferentiable", "ForwardDerivative", "ForwardDifferentiable"}
)
_DETACHING: Final = frozenset({"detach", "no_diff"})
_OUT: Final = re.compile(r"\b(?:in)?out\b")


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A function of the files.

    Attributes:
        name: The name that calls find it by.
        derivatives: Its custom derivatives. Each has the attribute that names it.
        calls: The names that it calls, those of operators and in macros too.
    """

    name: str
    source: SlangSource
    function: SlangFunction
    derivatives: Mapping[str, str]
    calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """A function as its text has it.

    Attributes:
        of: The function of which it is the derivative; empty if it is none.
        replaced: True if reverse mode skips it, since it or its caller has a custom backward derivative.
        apart: True if only custom derivatives call it. No mode goes through it then.
        tokens: The tokens of its head and body, from its first attribute on.
        params: The names of its parameters.
        backward_alone: Functions that have ``[BackwardDerivative]`` and no forward mode.
        storing: Functions that store into their arguments.
    """

    name: str
    file: str
    of: str
    replaced: bool
    apart: bool
    tokens: tuple[Token, ...]
    params: tuple[str, ...]
    backward_alone: frozenset[str]
    storing: frozenset[str]

    @property
    def derivative(self) -> bool:
        """True if it is the derivative of another function."""
        return bool(self.of)

    @property
    def opening(self) -> int:
        """The token that opens the body."""
        return next((k for k, token in enumerate(self.tokens) if token.text == "{"), len(self.tokens))


def same_file(one: str, other: str) -> bool:
    """Return True if two paths lead to one file."""
    return os.path.realpath(one) == os.path.realpath(other)


def function_at(source: SlangSource, span: Span) -> SlangFunction | None:
    """Return the function of a file that contains a location, whichever path to the file the location has."""
    return source.at(replace(span, file=source.file)) if same_file(source.file, span.file) else None


def is_backward_alone(attributes: Collection[str]) -> bool:
    """Return True if a function with these attributes has a backward derivative and no forward mode."""
    return "BackwardDerivative" in attributes and _HAS_FORWARD.isdisjoint(attributes)


def codes_of(span: Span, sources: Iterable[str]) -> tuple[FunctionCode, ...]:
    """Return the code that a gradient uses: the function at a location, its callees, and the derivatives of both."""
    files = [source_of(file) for file in sources if is_slang(file)]
    first = next((function for source in files if (function := function_at(source, span)) is not None), None)
    if first is None:
        return ()
    macros = _macros(files)
    nodes = tuple(_nodes(files, macros))
    start = next(node for node in nodes if node.function is first)
    alone = frozenset(node.name for node in nodes if is_backward_alone(_attributes(node)))
    storing = frozenset(
        node.name for node in nodes if _OUT.search(node.source.text, node.function.start, node.function.body)
    )
    of = {derivative: node.name for node in nodes for derivative in node.derivatives}
    through = _reached(start, nodes, lambda node: node.name in of)
    backward = _reached(start, nodes, lambda node: "BackwardDerivative" in node.derivatives.values())
    wanted, named = [start.name], {start.name}
    result: list[FunctionCode] = []
    for name in wanted:
        for node in nodes:
            if node.name != name or (name == start.name and node is not start):
                continue
            function, derivative_of = node.function, of.get(name, "")
            roles = not derivative_of and node not in backward, not derivative_of and node not in through
            tokens, params = _tokens(node.source, function, macros), function.header.params
            result.append(FunctionCode(name, node.source.file, derivative_of, *roles, tokens, params, alone, storing))
            more = sorted({*function.called, *node.calls, *node.derivatives} - named)
            named |= {*more}
            wanted += more
    return tuple(result)


def names_reached(spans: Iterable[Span], sources: Iterable[str]) -> list[frozenset[str]]:
    """Return for each function at a location its name and those of all that its gradient goes through."""
    files = [source_of(file) for file in sources if is_slang(file)]
    nodes = tuple(_nodes(files, _macros(files)))
    of = {derivative for node in nodes for derivative in node.derivatives}
    starts = {id(node.function): node for node in nodes}

    def reached(span: Span) -> frozenset[str]:
        first = next((function for source in files if (function := function_at(source, span)) is not None), None)
        if first is None:
            return frozenset()
        return frozenset(node.name for node in _reached(starts[id(first)], nodes, lambda node: node.name in of))

    return [reached(span) for span in spans]


def _nodes(files: Sequence[SlangSource], macros: Mapping[str, tuple[Token, ...]]) -> Iterator[_Node]:
    """Yield every function of some files with its edges."""
    every = [(source, function) for source in files for function in source.functions]
    names = frozenset(function.header.name for _, function in every)
    operators, derivatives = Operators(files), _derivatives_of(every)
    for source, function in every:
        written = [token.text for name in function.words & macros.keys() for token in macros[name]]
        text = source.text[function.start : function.end] + " ".join(written)
        calls = {*function.header.calls, *(names & {*written})}
        calls |= {name_in_calls(operator) for operator in operators.used(text, function.header.calls)}
        custom = {named: word for word, named in _named_by(function, names) if word in CUSTOM}
        custom |= derivatives.get(function.header.name, {})
        yield _Node(name_in_calls(function), source, function, custom, frozenset(calls))


def name_in_calls(function: SlangFunction) -> str:
    """Return the name that calls find a function by. That of an operator includes its location."""
    span, name = function.span, function.header.name
    return f"{name} {span.file}:{span.line}:{span.column}" if is_operator(function) else name


def _attributes(node: _Node) -> frozenset[str]:
    further = node.source.scan.derivatives_of.get(node.name, frozenset())
    return further.union(node.function.header.attributes)


def _reached(start: _Node, nodes: Sequence[_Node], ends: Callable[[_Node], bool]) -> frozenset[_Node]:
    """Return a function and all that it calls, directly or not. A path ends before a node for which ``ends`` holds."""
    by_name: dict[str, list[_Node]] = {}
    for node in nodes:
        if not ends(node):
            by_name.setdefault(node.name, []).append(node)

    def further(node: _Node) -> Iterator[_Node]:
        return (callee for name in node.calls for callee in by_name.get(name, ()))

    return frozenset(closure(() if ends(start) else (start,), further))


def _tokens(source: SlangSource, function: SlangFunction, macros: Mapping[str, tuple[Token, ...]]) -> tuple[Token, ...]:
    """Return the tokens of a function with the lines of its file, and behind a macro's name those of its text."""
    result: list[Token] = []
    for token in source.tokens[function.first : function.last + 1]:
        result += (replace(one, line=token.line) for one in (token, *macros.get(token.text, ())))
    return tuple(result)


def _macros(files: Iterable[SlangSource]) -> dict[str, tuple[Token, ...]]:
    """Return the text of macros, with macros in it expanded one level deep."""
    plain = {name: tokens for source in files for name, tokens in source.scan.defines}
    return {
        name: tuple(one for token in tokens for one in (token, *plain.get(token.text, ())))
        for name, tokens in plain.items()
    }


def _derivatives_of(every: Iterable[tuple[SlangSource, SlangFunction]]) -> dict[str, dict[str, str]]:
    """Return by function name the functions with ``[BackwardDerivativeOf(name)]`` and the like, with the attribute."""
    result: dict[str, dict[str, str]] = {}
    every = tuple(every)
    names = frozenset(function.header.name for _, function in every)
    for _, function in every:
        for word, named in _named_by(function, names):
            if word.endswith("Of") and word.removesuffix("Of") in CUSTOM:
                result.setdefault(named, {})[function.header.name] = word.removesuffix("Of")
    return result


def _named_by(function: SlangFunction, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a function that name another function; of ``Of(scope.f)`` that is ``f``."""
    attribute, named = "", ""
    for word in (*function.header.attributes, ""):
        if word in names:
            named = word
        elif not word or word.endswith(("Derivative", "DerivativeOf", "Differentiable")):
            if attribute and named:
                yield attribute, named
            attribute, named = word, ""


@dataclass(frozen=True, slots=True)
class CustomDerivative:
    """A custom derivative that a gradient uses.

    Attributes:
        attribute: ``BackwardDerivative`` or ``ForwardDerivative``.
        of: The function that it is the derivative of.
    """

    attribute: str
    of: SlangFunction
    source: SlangSource
    function: SlangFunction


def derivatives_reached(span: Span, sources: Iterable[str]) -> tuple[CustomDerivative, ...]:
    """Return the custom derivatives of the function at a location, else those of the functions that it calls."""
    files = [source_of(file) for file in sources if is_slang(file)]
    first = next((function for source in files if (function := function_at(source, span)) is not None), None)
    if first is None:
        return ()
    nodes = tuple(_nodes(files, _macros(files)))
    start = next(node for node in nodes if node.function is first)
    if start.derivatives:
        return tuple(_derivatives(start, nodes))
    called = _reached(start, nodes, lambda _: False)
    return tuple(one for node in nodes if node in called for one in _derivatives(node, nodes))


def detached_in(name: str, sources: Sequence[str]) -> Span:
    """Return the first ``detach`` or ``no_diff`` in functions of a name and their callees; nowhere if there is none."""
    nodes = tuple(_nodes([source_of(file) for file in sources if is_slang(file)], {}))
    starts = [node for node in nodes if node.name == name]
    called = {one for start in starts for one in _reached(start, nodes, lambda node: bool(node.derivatives))}
    for node in nodes:
        tokens = node.source.tokens[node.function.opening : node.function.last] if node in called else ()
        for token in tokens:
            if token.text in _DETACHING:
                return token.span(node.source.file)
    return NOWHERE


def _derivatives(node: _Node, nodes: Sequence[_Node]) -> Iterator[CustomDerivative]:
    """Yield the derivatives of a function; of several with one name, the one that fits its parameters best."""
    for name, attribute in node.derivatives.items():
        alike = [other for other in nodes if other.function.header.name == name]
        if alike:
            best = min(alike, key=lambda other: _distance(node, other))
            yield CustomDerivative(attribute, node.function, best.source, best.function)


def _distance(node: _Node, derivative: _Node) -> tuple[bool, int, int]:
    """Return the distance of a function from its possible derivative: scope, types of parameters, lines between."""
    start, other = node.function.header, derivative.function.header
    words = [re.findall(r"\w+", " ".join(one.types)) for one in (start, other)]
    lines = abs(start.span.line - other.span.line) if node.source is derivative.source else 1 << 30
    return start.path != other.path, sum(word not in words[1] for word in words[0]), lines
