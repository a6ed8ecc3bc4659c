"""Types and functions that some targets and devices lack.

    double in kernel fit, -t metal -t cuda   ->   fit for cuda, and SA211: metal has no double, which kernel 'fit' uses

On such a target Slang ends in an internal error, or writes code that computes something else. So these targets are
refused before Slang runs, and the others are written.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.driver.model import finish
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.calls import reached_in_order
from slangad.compiler.ir.targets import NOT_FINITE, ROOTS, TARGETS, TRANSCENDENTAL
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.runtime.device.table import DEVICES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from slangad.compiler.driver.model import CompileSteps, EmittedInput
    from slangad.compiler.errors.spans import Span


_REMEDY: Final = {NOT_FINITE: "the largest finite numbers"}

_GROUPS: Final = {
    TRANSCENDENTAL: "exp exp2 log log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh "
    "expm1 log1p erf sigmoid softplus",
    ROOTS: "sqrt rsqrt floor ceil round trunc floor_to_int ceil_to_int round_to_int trunc_to_int frac fmod mod "
    "floor_div hypot lerp mix length distance normalize reflect refract cross determinant isnan isinf isfinite",
}
"""Functions that some target has for float only: "16-bit or 32-bit" in GLSL.std.450, "float_like" in DXC."""
_GROUP_OF: Final = {name: group for group, names in _GROUPS.items() for name in names.split()}


def first_uses(module: ir.Module, kernel: ir.Kernel) -> dict[str, Span]:
    """Return the first use of each type or function group that some target lacks. Empty for Slang files."""
    functions = {function.key: function for function in module.functions}
    if isinstance(functions[kernel.function].body, ir.External):
        return {}
    endless = {c.key for c in module.constants if c.type != types.FLOAT and not all(map(math.isfinite, c.values))}
    result: dict[str, Span] = {}
    reached = [*reached_in_order(functions, kernel.function)]
    for expr in (expr for function in reached for expr in body_exprs(statements(function))):
        if isinstance(expr, ir.ConstantRef) and expr.key in endless and expr.span.line:
            result.setdefault(NOT_FINITE, expr.span)
        if (
            isinstance(expr, ir.Intrinsic)
            and expr.name in _GROUP_OF
            and types.element_of(expr.args[0].type) == types.DOUBLE
        ):
            result.setdefault(_GROUP_OF[expr.name], expr.span if expr.span.line else kernel.span)
    for type_, span in (typed for function in reached for typed in _typed(function)):
        for scalar in _scalars(type_):
            if span.line and any(scalar in target.lacks for target in TARGETS.values()):
                result.setdefault(scalar, span)
    return result


def not_on(device: str, module: ir.Module, kernels: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for each function that a device would silently compute wrongly."""
    kind = DEVICES.get(device)
    if kind is None or not kind.silent:
        return ()
    lacks = TARGETS[kind.target].lacks
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
        for what, span in first_uses(module, kernel).items()
        if what in lacks
    )


def refuse_on(device: str, module: ir.Module, kernels: Collection[str]) -> None:
    """Refuse kernels that a device would silently compute wrongly.

    Raises:
        CompileError: There is one.
    """
    refusals = not_on(device, module, kernels)
    if refusals:
        raise CompileError(refusals)


def supported_targets(slang: EmittedInput) -> tuple[str, ...]:
    """Return the targets that have everything that the kernels use."""
    used = {scalar for kernel in slang.kernels for scalar in kernel.scalars}
    return tuple(target for target in slang.asked if not used.intersection(TARGETS[target].lacks))


def refuse_unsupported(steps: CompileSteps) -> CompileSteps:
    """Run a compile, and report the targets that lack something that its kernels use."""
    slang, code = yield next(steps)
    return replace(finish(steps, slang, code), refusals=_refusals(slang))


def _refusals(slang: EmittedInput) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for each kernel and each type or function group that some of the targets lack."""
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
        for kernel in slang.kernels
        for scalar, span in kernel.scalars.items()
        if (lacking := [target for target in slang.asked if scalar in TARGETS[target].lacks])
    )


def _typed(function: ir.Function) -> Iterator[tuple[types.Type, Span]]:
    """Yield the types of all that a function is made of, with their places; those of its parameters first."""
    yield from ((param.type, param.span) for param in function.params)
    yield from ((expr.type, expr.span) for expr in body_exprs(statements(function)))
    yield function.result, function.span


def _scalars(type_: types.Type) -> Iterator[str]:
    match type_:
        case types.Scalar(name=name):
            yield name
        case types.Vector() | types.Matrix() | types.Array() | types.Tensor() | types.Texture():
            yield from _scalars(type_.element)
        case types.DiffPair(primal=primal):
            yield from _scalars(primal)
        case types.Struct(fields=fields):
            for field in fields:
                yield from _scalars(field.type)
        case types.Tuple(elements):
            for element in elements:
                yield from _scalars(element)
        case _:
            return
