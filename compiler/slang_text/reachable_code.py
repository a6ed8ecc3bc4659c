"""A function of a Slang file and all that its gradient is made from, as tokens: what traps are looked for in.

A place and files go in. Calls are followed by their names, to derivatives that people wrote too, and to
operators of users that may be used.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.files import bodies_of
from slangad.compiler.slang_text.operators import Operators, is_operator
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.bodies import Bodies, Function
    from slangad.compiler.slang_text.tokens import Token

_OWN: Final = frozenset({"BackwardDerivative", "ForwardDerivative"})
_HAS_FORWARD: Final = frozenset(
    {"Differentiable", "BackwardDifferentiable", "ForwardDerivative", "ForwardDifferentiable"}
)
_OUT: Final = re.compile(r"\b(?:in)?out\b")


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A function of the files that are looked through.

    Attributes:
        name: What it is found by.
        own: Its own derivatives, by their names the words that make them such.
        calls: The names of what it calls, operators and what macros call too.
    """

    name: str
    bodies: Bodies
    function: Function
    own: Mapping[str, str]
    calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class Code:
    """A function as its text has it.

    Attributes:
        of: The function whose derivative it is; empty if it is none.
        replaced: Whether reverse mode does not go through it, since it or what calls it has a backward derivative.
        apart: Whether only derivatives that people wrote call it: nothing goes through it then.
        tokens: Of its head and body, from its first attribute on.
        params: The names of its parameters.
        backward_alone: Functions that have ``[BackwardDerivative]`` and no forward mode.
        storing: Functions that store into what they are given.
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
        """Whether it is the derivative of another function."""
        return bool(self.of)

    @property
    def opening(self) -> int:
        """The token that opens the body."""
        return next((k for k, token in enumerate(self.tokens) if token.text == "{"), len(self.tokens))


def same_file(one: str, other: str) -> bool:
    """Whether two paths are those of one file."""
    return os.path.realpath(one) == os.path.realpath(other)


def codes_of(span: Span, sources: Iterable[str]) -> tuple[Code, ...]:
    """The functions that a gradient is made from: that at a place, what it calls, and their derivatives."""
    files = [bodies_of(file) for file in sources if file.endswith(".slang")]
    first = next((function for bodies in files if (function := _at(bodies, span)) is not None), None)
    if first is None:
        return ()
    macros = _macros(files)
    every = tuple(_known(files, macros))
    start = next(one for one in every if one.function is first)
    alone, storing = frozenset(_alone(every)), frozenset(_storing(every))
    of = {derivative: one.name for one in every for derivative in one.own}
    through = _reached(start, every, lambda one: one.name in of)
    backward = _reached(start, every, lambda one: "BackwardDerivative" in one.own.values())
    wanted, named = [start.name], {start.name}
    found: list[Code] = []
    for name in wanted:
        for one in every:
            if one.name != name or (name == start.name and one is not start):
                continue
            function, derivative_of = one.function, of.get(name, "")
            roles = not derivative_of and one not in backward, not derivative_of and one not in through
            tokens, params = _tokens(one.bodies, function, macros), function.header.params
            found.append(Code(name, one.bodies.scan.file, derivative_of, *roles, tokens, params, alone, storing))
            more = sorted({*function.called, *one.calls, *one.own} - named)
            named |= {*more}
            wanted += more
    return tuple(found)


def _known(files: Sequence[Bodies], macros: Mapping[str, tuple[Token, ...]]) -> Iterator[_Known]:
    """Every function of some files, with what it leads to."""
    every = [(bodies, function) for bodies in files for function in bodies.functions]
    names = frozenset(function.header.name for _, function in every)
    operators, derivatives = Operators(files), _derivatives_of(every)
    for bodies, function in every:
        written = [token.text for name in function.words & macros.keys() for token in macros[name]]
        text = bodies.text[function.start : function.end] + " ".join(written)
        calls = {*function.header.calls, *(names & {*written})}
        calls |= {_name(operator) for operator in operators.used(text, function.header.calls)}
        attributes = pairwise(function.header.attributes)
        own = {named: word for word, named in attributes if word in _OWN and named in names}
        own |= derivatives.get(function.header.name, {})
        yield _Known(_name(function), bodies, function, own, frozenset(calls))


def _name(function: Function) -> str:
    """What a function is found by: operators each by their own place, others by their names."""
    place, name = function.span, function.header.name
    return f"{name} {place.file}:{place.line}:{place.column}" if is_operator(function) else name


def _reached(start: _Known, every: Sequence[_Known], ends: Callable[[_Known], bool]) -> frozenset[_Known]:
    """What a function calls, directly or not, and itself; not those at which the way ends, and what only they call."""
    found, fresh = set[_Known](), {start}
    while fresh := {one for one in fresh if not ends(one)} - found:
        found |= fresh
        names = {name for one in fresh for name in one.calls}
        fresh = {one for one in every if one.name in names}
    return frozenset(found)


def _at(bodies: Bodies, span: Span) -> Function | None:
    file = bodies.scan.file
    return bodies.at(replace(span, file=file)) if same_file(file, span.file) else None


def _tokens(bodies: Bodies, function: Function, macros: Mapping[str, tuple[Token, ...]]) -> tuple[Token, ...]:
    """The tokens of a function, with the lines of its file, and those of a macro behind its name."""
    first = bodies.text.count("\n", 0, function.start)
    found: list[Token] = []
    for token in read_text(bodies.text[function.start : function.end + 1]).tokens:
        here = token.line + first
        found += (replace(one, line=here) for one in (token, *macros.get(token.text, ())))
    return tuple(found)


def _macros(files: Iterable[Bodies]) -> dict[str, tuple[Token, ...]]:
    """What macros stand for, those in it one level deep."""
    texts = (directive for bodies in files for directive in bodies.scan.directives if directive.startswith("define "))
    plain = {tokens[0].text: tokens[1:] for text in texts if (tokens := read_text(text.removeprefix("define ")).tokens)}
    return {
        name: tuple(one for token in tokens for one in (token, *plain.get(token.text, ())))
        for name, tokens in plain.items()
    }


def _derivatives_of(every: Iterable[tuple[Bodies, Function]]) -> dict[str, dict[str, str]]:
    """By the names of functions, the functions that say to be derivatives of those, and which."""
    found: dict[str, dict[str, str]] = {}
    for _, function in every:
        for word, named in pairwise(function.header.attributes):
            if word.endswith("Of") and word.removesuffix("Of") in _OWN:
                found.setdefault(named, {})[function.header.name] = word.removesuffix("Of")
    return found


def _alone(every: Iterable[_Known]) -> Iterator[str]:
    """Functions that have a backward derivative and no forward mode."""
    for one in every:
        further = one.bodies.scan.derivatives_of.get(one.name, frozenset())
        words = {*one.function.header.attributes, *further}
        if "BackwardDerivative" in words and not words & _HAS_FORWARD:
            yield one.name


def _storing(every: Iterable[_Known]) -> Iterator[str]:
    """Functions that store into what they are given."""
    for one in every:
        if _OUT.search(one.bodies.text, one.function.start, one.function.body):
            yield one.name
