"""Types and functions that some targets lack: a module goes in, the place of each kernel's first such use comes out.

Slang ends in an internal error there, or writes what computes something else without a word; so these targets and
devices are refused before it is asked, and the others are written.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.nodes import BackwardCall, Call, ConstantRef, Custom, External, ForwardCall, Intrinsic
from slangad.compiler.ir.types import (
    DOUBLE,
    FLOAT,
    Array,
    DiffPair,
    Matrix,
    Scalar,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Vector,
    element_of,
)
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.toolchain.targets import NOT_FINITE, ROOTS, TARGETS, TRANSCENDENTAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from slangad.compiler.driver.outputs import Unit
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Expr, Function, Kernel, Module
    from slangad.compiler.ir.types import Type


_REMEDY: Final = {NOT_FINITE: "the largest finite numbers"}

_GROUPS: Final = {
    TRANSCENDENTAL: "exp exp2 log log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh",
    ROOTS: "sqrt rsqrt floor ceil round trunc floor_to_int ceil_to_int round_to_int trunc_to_int frac fmod mod "
    "floor_div lerp length distance normalize reflect refract cross determinant isnan isinf isfinite",
}
"""The functions that some target has for float only: "16-bit or 32-bit" in GLSL.std.450, "float_like" in DXC."""
_GROUP_OF: Final = {name: group for group, names in _GROUPS.items() for name in names.split()}

_TARGET_OF: Final = {"vulkan": "spirv", "d3d12": "dxil"}
"""What devices compile to that take a function for double and compute something else."""


def first_places(module: Module, kernel: Kernel) -> dict[str, Span]:
    """Where a kernel first uses each thing that some target lacks; nothing for one that is written in Slang."""
    functions = {function.key: function for function in module.functions}
    if isinstance(functions[kernel.function].body, External):
        return {}
    endless = {c.key for c in module.constants if c.type != FLOAT and not all(map(math.isfinite, c.values))}
    found: dict[str, Span] = {}
    for expr in _exprs(kernel.function, functions, set()):
        if isinstance(expr, ConstantRef) and expr.key in endless and expr.span.line:
            found.setdefault(NOT_FINITE, expr.span)
        if isinstance(expr, Intrinsic) and expr.name in _GROUP_OF and element_of(expr.args[0].type) == DOUBLE:
            found.setdefault(_GROUP_OF[expr.name], expr.span if expr.span.line else kernel.span)
    for type_, span in _typed(kernel.function, functions, set()):
        for scalar in _scalars(type_):
            if span.line and any(scalar in target.lacks for target in TARGETS.values()):
                found.setdefault(scalar, span)
    return found


def not_on(device: str, module: Module, kernels: Collection[str]) -> tuple[Diagnostic, ...]:
    """One diagnostic for each function that kernels call and a device would compute wrongly without a word."""
    if device not in _TARGET_OF:
        return ()
    lacks = TARGETS[_TARGET_OF[device]].lacks
    return tuple(
        Diagnostic(
            "SA211",
            f"{device} has no {what}, which kernel '{kernel.name}' uses",
            span,
            label="used here",
            help="use float, or another device",
        )
        for kernel in module.kernels
        if kernel.name in kernels
        for what, span in first_places(module, kernel).items()
        if what in lacks
    )


def refuse_on(device: str, module: Module, kernels: Collection[str]) -> None:
    """Refuse kernels that a device would compute wrongly without a word.

    Raises:
        CompileError: There is one.
    """
    found = not_on(device, module, kernels)
    if found:
        raise CompileError(found)


def possible(unit: Unit, targets: Iterable[str]) -> tuple[str, ...]:
    """The targets that have all that the wanted kernels use."""
    used = {scalar for kernel in unit.kernels for scalar in kernel.scalars}
    return tuple(target for target in targets if not used.intersection(TARGETS[target].lacks))


def refusals(unit: Unit, targets: Iterable[str]) -> tuple[Diagnostic, ...]:
    """One diagnostic for each kernel and thing that some of the targets lack."""
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
