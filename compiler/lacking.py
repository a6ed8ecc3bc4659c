"""Types that some targets lack: a module goes in, the place of the first such type of each kernel comes out.

Slang ends in an internal error there; so these targets are refused before it is asked, and the others are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.diagnostics import Diagnostic
from slangad.compiler.ir.nodes import BackwardCall, Call, Custom, External, ForwardCall
from slangad.compiler.ir.types import Array, DiffPair, Matrix, Scalar, Struct, Tensor, Texture, Tuple, Vector
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.toolchain.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.ir.nodes import Function, Kernel, Module
    from slangad.compiler.ir.types import Type
    from slangad.compiler.products import Unit
    from slangad.compiler.spans import Span


def first_places(module: Module, kernel: Kernel) -> dict[str, Span]:
    """Where a kernel first uses each type that some target lacks; nothing for one that is written in Slang."""
    functions = {function.key: function for function in module.functions}
    if isinstance(functions[kernel.function].body, External):
        return {}
    found: dict[str, Span] = {}
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
            help=f"use float, or leave {' and '.join(lacking)} out for this file; other targets are written",
        )
        for kernel in unit.kernels
        for scalar, span in kernel.scalars.items()
        if (lacking := [target for target in targets if scalar in TARGETS[target].lacks])
    )


def _typed(key: str, functions: Mapping[str, Function], seen: set[str]) -> Iterator[tuple[Type, Span]]:
    """The types of all that a function and what it calls is made of, with their places; its own signature first."""
    function = functions[key]
    seen.add(key)
    yield from ((param.type, param.span) for param in function.params)
    exprs = [*body_exprs(statements(function))]
    yield from ((expr.type, expr.span) for expr in exprs)
    yield function.result, function.span
    called = [expr.function for expr in exprs if isinstance(expr, (Call, BackwardCall, ForwardCall))]
    custom = function.derivative
    called += [own for own in (custom.backward, custom.forward) if own] if isinstance(custom, Custom) else []
    for callee in called:
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
