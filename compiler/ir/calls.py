"""The call graph of functions in the IR: what a function calls, what it reaches, and who calls it.

Passes, emitter, targets, twins and reports all take the graph from here. They differ in the edges they follow:

| edges           | functions that                                                                    |
|-----------------|-----------------------------------------------------------------------------------|
| `value_callees` | a body calls for their value                                                      |
| `callees`       | a body calls or differentiates, its derivatives and surrogate, inverses of loops  |
| `needed_first`  | must stand earlier in the emitted file, each with the location that needs it      |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from slangad.compiler.ir.nodes import (
    Automatic,
    BackwardCall,
    Call,
    ClipGradient,
    Custom,
    For,
    ForwardCall,
    Function,
    SlangBody,
    Surrogate,
)
from slangad.compiler.ir.walk import body_exprs, statements, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import FiniteDifference, StraightThrough, Subgradient

    Unclipped: TypeAlias = Automatic | Custom | FiniteDifference | StraightThrough | Subgradient | Surrogate

AnyCall: TypeAlias = Call | BackwardCall | ForwardCall
Edges: TypeAlias = Callable[[Function], Iterable[str]]
Node = TypeVar("Node", bound=Hashable)
_WORD: Final = re.compile(r"[^\W\d]\w*")


def calls_in(function: Function) -> Iterator[AnyCall]:
    """Return the calls in a body in order, those of derivatives too."""
    return (expr for expr in body_exprs(statements(function)) if isinstance(expr, (Call, BackwardCall, ForwardCall)))


def inverses(function: Function) -> Iterator[Call]:
    """Yield the calls that undo iterations of a function's loops, as the user has it."""
    loops = (s for s in walk_stmts(statements(function)) if isinstance(s, For))
    return (loop.inverse for loop in loops if isinstance(loop.inverse, Call))


def policy_of(function: Function) -> Unclipped:
    """Return the declared derivative of a function without its clip."""
    return function.derivative.of if isinstance(function.derivative, ClipGradient) else function.derivative


def custom_derivatives(function: Function) -> tuple[str, ...]:
    """Return the keys of a function's custom backward and forward functions, those that exist."""
    policy = function.derivative
    return tuple(key for key in (policy.backward, policy.forward) if key) if isinstance(policy, Custom) else ()


def surrogates(function: Function) -> tuple[str, ...]:
    """Return the key of a function's surrogate as a tuple of one; an empty tuple if it has none."""
    policy = policy_of(function)
    return (policy.function,) if isinstance(policy, Surrogate) else ()


def value_callees(function: Function) -> Iterator[str]:
    """Return the keys of the functions that a body calls for their value."""
    return (expr.function for expr in calls_in(function) if isinstance(expr, Call))


def callees(function: Function, functions: Iterable[Function] = ()) -> Iterator[str]:
    """Yield the keys of the functions that a function calls or is differentiated by.

    Args:
        function: The function.
        functions: The functions that a body in Slang may call. Such a body calls those whose names are in its text.
    """
    if isinstance(function.body, SlangBody):
        words = set(_WORD.findall(function.body.text))
        yield from (one.key for one in functions if one.name in words)
    yield from (expr.function for expr in calls_in(function))
    yield from (call.function for call in inverses(function))
    yield from custom_derivatives(function)
    yield from surrogates(function)


def needed_first(function: Function, functions: Mapping[str, Function]) -> Iterator[tuple[str, Span]]:
    """Yield the functions to declare before a function: its callees, their used custom derivatives, its surrogate.

    Inverses of loops too, while there are any.
    """
    yield from ((call.function, call.span) for call in inverses(function))
    for expr in calls_in(function):
        yield expr.function, expr.span
        if not isinstance(expr, Call) and expr.function in functions:
            yield from ((key, expr.span) for key in custom_derivatives(functions[expr.function]))
    yield from ((key, function.span) for key in surrogates(function))


def closure(start: Iterable[Node], further: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """Return some nodes of a graph and everything that a path leads to from them."""
    result: set[Node] = set()
    pending = [*start]
    while pending:
        node = pending.pop()
        if node not in result:
            result.add(node)
            pending.extend(further(node))
    return result


def reached(functions: Mapping[str, Function], start: Iterable[str]) -> set[str]:
    """Return the keys of some functions, of all that they call or are differentiated by, and of their derivatives."""
    derivatives: dict[str, list[str]] = {}
    for key, function in functions.items():
        derivatives.setdefault(function.of, []).append(key)

    def further(key: str) -> Iterator[str]:
        yield from (one for one in callees(functions[key], functions.values()) if one in functions)
        yield from derivatives.get(key, ())

    return closure(start, further)


def reached_in_order(functions: Mapping[str, Function], start: str, edges: Edges = callees) -> Iterator[Function]:
    """Yield a function and everything it reaches, each once, depth first, a caller before its callees."""
    seen: set[str] = set()

    def visit(key: str) -> Iterator[Function]:
        seen.add(key)
        yield functions[key]
        for callee in edges(functions[key]):
            if callee not in seen and callee in functions:
                yield from visit(callee)

    return visit(start)


def callers(functions: Mapping[str, Function], start: Iterable[str], edges: Edges) -> set[str]:
    """Return the keys of some functions and of everything from which these edges lead to them."""
    leading: dict[str, list[str]] = {}
    for key, function in functions.items():
        for callee in edges(function):
            leading.setdefault(callee, []).append(key)
    return closure(start, lambda key: leading.get(key, ()))


def callees_first(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Return functions with callees before callers, otherwise in the given order."""
    by_key = {function.key: function for function in functions}
    order: dict[str, Function] = {}

    def put(function: Function) -> None:
        for expr in calls_in(function):
            if expr.function not in order:
                put(by_key[expr.function])
        order[function.key] = function

    for function in by_key.values():
        if function.key not in order:
            put(function)
    return tuple(order.values())


def differentiated(functions: Mapping[str, Function], key: str) -> set[str]:
    """Return a function and its direct and indirect callees whose statements Slang differentiates."""
    result, pending = set[str](), [key]
    while pending:
        function = functions[pending.pop()]
        if function.key not in result and function.derivative == Automatic() and isinstance(function.body, tuple):
            result.add(function.key)
            pending += [call.function for call in calls_in(function) if isinstance(call, Call)]
    return result
