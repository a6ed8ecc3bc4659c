"""Types that some targets lack: a module goes in, the place of the first such type of each kernel comes out.

Slang ends in an internal error there; so these targets are refused before it is asked, and the others are written.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from slangad.compiler.diagnostics import Diagnostic
from slangad.compiler.ir.nodes import BackwardCall, Call, ConstantRef, Custom, External, ForwardCall
from slangad.compiler.ir.types import FLOAT, Array, DiffPair, Matrix, Scalar, Struct, Tensor, Texture, Tuple, Vector
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.toolchain.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.ir.nodes import Expr, Function, Kernel, Module
    from slangad.compiler.ir.types import Type
    from slangad.compiler.products import Unit
    from slangad.compiler.spans import Span


ENDLESS: Final = "table with inf or nan"
"""What is no type but lacks a counterpart all the same: constants that are not finite, but for plain floats."""

_REMEDY: Final = {ENDLESS: "the largest finite numbers"}


def first_places(module: Module, kernel: Kernel) -> dict[str, Span]:
    """Where a kernel first uses each type that some target lacks; nothing for one that is written in Slang."""
    functions = {function.key: function for function in module.functions}
    if isinstance(functions[kernel.function].body, External):
        return {}
    endless = {c.key for c in module.constants if c.type != FLOAT and not all(map(math.isfinite, c.values))}
    found: dict[str, Span] = {}
    for expr in _exprs(kernel.function, functions, set()):
        if isinstance(expr, ConstantRef) and expr.key in endless and expr.span.line:
            found.setdefault(ENDLESS, expr.span)
    for type_, span in _typed(kernel.function, functions, set()):
        for scalar in _scalars(type_):
            if span.line and any(scalar in target.lacks for target in TARGETS.values()):
                found.setdefault(scalar, span)
    return found


def possible(unit: Unit, targets: Iterable[str]) -> tuple[str, ...]:
    """The targets that have all types of the kernels that are wanted."""
    used = {scalar for kernel in unit.kernels for scalar in kernel.scalars}
    return tuple(target for target in targets if not used.intersection(TARGETS[target].lacks))


def refusals(unit: Unit, targets: Iterable[str]) -> tuple[Diagnostic, ...]:
    """One diagnostic for each kernel and type that some of the targets lack."""
    return tuple(
        Diagnostic(
            "SA211",
            f"{' and '.join(lacking)} {'have' if len(lacking) > 1 else 'has'} no {scalar}, "
            f"which kernel '{kernel.name}' uses",
            span,
            label="used here",
            help=f"use {_REMEDY.get(scalar, 'float')}, or leave {' and '.join(lacking)} out for this file; "
            "other targets are written",
        )
        for kernel in unit.kernels
        for scalar, span in kernel.scalars.items()
        if (lacking := [target for target in targets if scalar in TARGETS[target].lacks])
    )


def _exprs(key: str, functions: Mapping[str, Function], seen: set[str]) -> Iterator[Expr]:
    """Every expression of a function and of what it calls."""
    seen.add(key)
    exprs = [*body_exprs(statements(functions[key]))]
    yield from exprs
    for callee in _called(functions[key], exprs):
        if callee not in seen:
            yield from _exprs(callee, functions, seen)


def _called(function: Function, exprs: Iterable[Expr]) -> Iterator[str]:
    """What a function calls, and its own derivatives."""
    yield from (expr.function for expr in exprs if isinstance(expr, (Call, BackwardCall, ForwardCall)))
    if isinstance(function.derivative, Custom):
        yield from (own for own in (function.derivative.backward, function.derivative.forward) if own)


def _typed(key: str, functions: Mapping[str, Function], seen: set[str]) -> Iterator[tuple[Type, Span]]:
    """The types of all that a function and what it calls is made of, with their places; its own signature first."""
    function = functions[key]
    seen.add(key)
    yield from ((param.type, param.span) for param in function.params)
    exprs = [*body_exprs(statements(function))]
    yield from ((expr.type, expr.span) for expr in exprs)
    yield function.result, function.span
    for callee in _called(function, exprs):
        if callee not in seen:
            yield from _typed(callee, functions, seen)


def _scalars(type_: Type) -> Iterator[str]:
    match type_:
        case Scalar(name=name):
            yield name
        case Vector() | Matrix() | Array() | Tensor() | Texture():
            yield from _scalars(type_.element)
        case DiffPair(primal=primal):
            yield from _scalars(primal)
        case Struct(fields=fields):
            for field in fields:
                yield from _scalars(field.type)
        case Tuple(elements):
            for element in elements:
                yield from _scalars(element)
        case _:
            return
