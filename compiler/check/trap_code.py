"""A function of a Slang file and all that its gradient is made from, as tokens: what traps are looked for in.

A place and files go in. Calls are followed by their names, to derivatives that people wrote too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.slang.bodies import Bodies, Function, read_bodies
from slangad.compiler.frontends.slang.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.frontends.slang.tokens import Token
    from slangad.compiler.spans import Span

_OWN: Final = frozenset({"BackwardDerivative", "ForwardDerivative"})
_HAS_FORWARD: Final = frozenset(
    {"Differentiable", "BackwardDifferentiable", "ForwardDerivative", "ForwardDifferentiable"}
)


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
    """

    name: str
    file: str
    of: str
    replaced: bool
    apart: bool
    tokens: tuple[Token, ...]
    params: tuple[str, ...]
    backward_alone: frozenset[str]

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
    files = [_bodies(file) for file in sources if file.endswith(".slang")]
    start = next((one for bodies in files if (one := _at(bodies, span)) is not None), None)
    if start is None:
        return ()
    every = [(bodies, function) for bodies in files for function in bodies.functions]
    derivatives = _derivatives(every)
    alone = frozenset(_alone(every))
    macros = _macros(files)
    own_backward = frozenset(name for name, own in derivatives.items() if "BackwardDerivative" in own)
    through, backward = (_reached(start, every, stop) for stop in (frozenset(derivatives[""]), own_backward))
    wanted, known = [start.header.name], {start.header.name}
    found: list[Code] = []
    for name in wanted:
        own = derivatives.get(name, {})
        for bodies, function in every:
            if function.header.name != name or (name == start.header.name and function != start):
                continue
            of = derivatives[""].get(name, "")
            roles = not of and name not in backward, not of and name not in through
            tokens = _tokens(bodies, function, macros)
            found.append(Code(name, bodies.scan.file, of, *roles, tokens, function.header.params, alone))
            more = sorted({*function.called, *own.values()} - known)
            known |= {*more}
            wanted += more
    return tuple(found)


def _reached(start: Function, every: Sequence[tuple[Bodies, Function]], stop: frozenset[str]) -> frozenset[str]:
    """The names of what a function calls, directly or not, itself too; not of where that stops."""
    found, fresh = set[str](), {start.header.name} - stop
    while fresh:
        found |= fresh
        fresh = {name for _, one in every if one.header.name in fresh for name in one.header.calls} - found - stop
    return frozenset(found)


def _at(bodies: Bodies, span: Span) -> Function | None:
    file = bodies.scan.file
    return bodies.at(replace(span, file=file)) if same_file(file, span.file) else None


def _bodies(file: str) -> Bodies:
    try:
        return _read(file, Path(file).stat().st_mtime_ns)
    except OSError:
        return read_bodies("", file)


@lru_cache(maxsize=64)
def _read(file: str, _: int) -> Bodies:
    return read_bodies(Path(file).read_text(encoding="utf-8", errors="replace"), file)


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


def _derivatives(every: Sequence[tuple[Bodies, Function]]) -> dict[str, dict[str, str]]:
    """By functions, their own derivatives by the words that name them; by nothing, whose derivative a function is."""
    names = {function.header.name for _, function in every}
    found: dict[str, dict[str, str]] = {"": {}}
    for _, function in every:
        attributes = function.header.attributes
        for word, named in pairwise(attributes):
            if word in _OWN and named in names:
                found.setdefault(function.header.name, {})[word] = named
                found[""][named] = function.header.name
            elif word.removesuffix("Of") in _OWN and named in names:
                found.setdefault(named, {})[word.removesuffix("Of")] = function.header.name
                found[""][function.header.name] = named
    return found


def _alone(every: Iterable[tuple[Bodies, Function]]) -> Iterator[str]:
    """Functions that have a backward derivative and no forward mode."""
    for bodies, function in every:
        further = bodies.scan.derivatives_of.get(function.header.name, frozenset())
        words = {*function.header.attributes, *further}
        if "BackwardDerivative" in words and not words & _HAS_FORWARD:
            yield function.header.name
