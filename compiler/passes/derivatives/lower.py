"""Replace derivative policies by functions; each policy has a module beside this one.

    derivative surrogate("soft")   ->  derivative custom("f:bwd", "f:fwd") and both functions
    derivative custom("f:bwd")     ->  derivative custom("f:bwd", "f:fwd") and the forward function
    derivative automatic()         ->  unchanged

``clip`` and ``subgradient`` also move the function's body to a new function.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import fresh_keys
from slangad.compiler.passes.derivatives.clip import clip_backward, clip_forward
from slangad.compiler.passes.derivatives.derived import derived_backward, derived_forward
from slangad.compiler.passes.derivatives.finite import finite_backward, finite_forward
from slangad.compiler.passes.derivatives.maker import Maker, with_custom
from slangad.compiler.passes.derivatives.simple import (
    straight_backward,
    straight_forward,
    subgradient_backward,
    subgradient_forward,
    surrogate_backward,
    surrogate_forward,
)

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Fresh


def lower_derivatives(module: ir.Module) -> ir.Module:
    """Give every function that has a derivative policy, or only one custom derivative, a function for each mode."""
    keys = fresh_keys(module)
    functions: list[ir.Function] = []
    for function in module.functions:
        functions += _lower(function, keys) if function.role is ir.Role.PLAIN else [function]
    return replace(module, functions=tuple(functions))


def _lower(function: ir.Function, keys: Fresh) -> tuple[ir.Function, ...]:
    maker = Maker(function, keys)
    match function.derivative:
        case ir.Automatic():
            return (function,)
        case ir.Custom():
            return _complete(maker, function.derivative)
        case ir.FiniteDifference() as policy:
            return with_custom(function, finite_backward(maker, policy), finite_forward(maker, policy))
        case ir.Surrogate() as policy:
            return with_custom(function, surrogate_backward(maker, policy), surrogate_forward(maker, policy))
        case ir.StraightThrough():
            return with_custom(function, straight_backward(maker), straight_forward(maker))
        case ir.Subgradient() as policy:
            return _subgradient(maker, policy)
        case ir.ClipGradient() as policy:
            return _clip(maker, policy)
        case _:
            assert_never(function.derivative)


def _complete(maker: Maker, custom: ir.Custom) -> tuple[ir.Function, ...]:
    """Return the function and its derivative in the mode that the user omitted."""
    if custom.forward is None and custom.backward is not None:
        made = derived_forward(maker)
        return replace(maker.function, derivative=ir.Custom(custom.backward, made.key)), made
    if custom.backward is None and custom.forward is not None:
        made = derived_backward(maker)
        return replace(maker.function, derivative=ir.Custom(made.key, custom.forward)), made
    return (maker.function,)


def _subgradient(maker: Maker, policy: ir.Subgradient) -> tuple[ir.Function, ...]:
    moved = replace(maker.moved("automatic"), derivative=ir.Automatic())
    backward = subgradient_backward(maker, policy, moved.key)
    forward = subgradient_forward(maker, policy, moved.key)
    return moved, *with_custom(maker.calling(moved), backward, forward)


def _clip(maker: Maker, policy: ir.ClipGradient) -> tuple[ir.Function, ...]:
    moved = replace(maker.moved("unclipped"), derivative=policy.of)
    backward, forward = clip_backward(maker, policy, moved.key), clip_forward(maker, moved.key)
    return *_lower(moved, maker.keys), *with_custom(maker.calling(moved), backward, forward)
