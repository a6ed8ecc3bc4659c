"""Clip gradients: move the function's body to ``f_unclipped``, and clip the reverse-mode gradients of that.

Forward mode stays that of the unclipped function. NaN becomes 0, infinities the limit.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.build import (
    accumulate_inner,
    call,
    cast,
    divide,
    for_each_part,
    multiply,
    number,
    part,
    zero,
)
from slangad.compiler.ir.nodes import Assign, Binary, If, Return, Ternary
from slangad.compiler.ir.types import BOOL, Scalar, Tuple, Type, Vector, leaves, with_element
from slangad.compiler.passes.derivatives.maker import gradients

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.nodes import ClipGradient, Expr, Function, Var
    from slangad.compiler.passes.derivatives.maker import Maker

_LARGEST: Final = {"half": 65504.0, "float": 3.4028234663852886e38, "double": 1.7976931348623157e308}


def clip_backward(maker: Maker, policy: ClipGradient, moved: str) -> Function:
    """Return a backward function that clips the gradients of ``moved``."""
    fresh = maker.fresh()
    setup, found = _take_gradients(maker, moved, fresh)
    body = setup
    for gradient in found:
        if policy.limit is not None:
            body += for_each_part(gradient, fresh, partial(_clamp, policy.limit))
        if policy.norm is not None:
            body += _clip_norm(gradient, policy.norm, fresh)
    return maker.backward_function((*body, gradients([*found])))


def clip_forward(maker: Maker, moved: str) -> Function:
    """Forward mode of the unclipped function."""
    return maker.forward_function((Return(maker.forward(moved, maker.pairs())),))


def _take_gradients(maker: Maker, moved: str, fresh: Fresh) -> tuple[Block, list[Var]]:
    """Locals that hold the unclipped gradients."""
    reverse = maker.reverse(moved, maker.values(), maker.seed)
    locals_ = [fresh.var(f"{p.name}_grad", p.type) for p in maker.active]
    if not isinstance(reverse.type, Tuple):
        return (Assign(locals_[0], reverse),), locals_
    all_ = fresh.var("unclipped", reverse.type)
    taken = tuple(Assign(local, part(all_, i)) for i, local in enumerate(locals_))
    return (Assign(all_, reverse), *taken), locals_


def _clamp(limit: float, gradient: Expr) -> Block:
    return (Assign(gradient, clamped(gradient, limit)),)


def clamped(gradient: Expr, limit: float) -> Expr:
    """Return a scalar or vector gradient with every component in ±limit, NaN as 0."""
    type_ = gradient.type
    bounded = call("clamp", type_, gradient, number(-limit, type_), number(limit, type_))
    invalid = call("isnan", with_element(type_, BOOL), gradient)
    if isinstance(type_, Scalar):
        return Ternary(invalid, zero(type_), bounded, type_)
    return call("select", type_, invalid, number(0.0, type_), bounded)


def _clip_norm(gradient: Var, norm: float, fresh: Fresh) -> Block:
    """Scale a gradient down to a norm, by way of its largest component so that nothing overflows."""
    element = element_within(gradient.type)
    largest, squares = fresh.var("largest", element), fresh.var("squares", element)

    def find(g: Expr) -> Block:
        parts = [part(g, k) for k in range(g.type.size)] if isinstance(g.type, Vector) else [g]
        sizes = [cast(call("abs", p.type, p), element) for p in parts]
        bound = (Assign(g, clamped(g, _LARGEST[element.name])),)
        found = reduce(lambda a, b: call("max", element, a, b), sizes)
        return (*bound, Assign(largest, call("max", element, largest, found)))

    def shrink(g: Expr) -> Block:
        return (Assign(g, divide(g, cast(largest, element_within(g.type)))),)

    def scale(g: Expr) -> Block:
        factor = call("min", element, largest, divide(number(norm, element), call("sqrt", element, squares)))
        return (Assign(g, multiply(g, cast(factor, element_within(g.type)))),)

    shrunk = (
        *for_each_part(gradient, fresh, shrink),
        Assign(squares, zero(element)),
        *accumulate_inner(squares, gradient, gradient, fresh),
        *for_each_part(gradient, fresh, scale),
    )
    something = Binary(">", largest, zero(element), BOOL)
    return (Assign(largest, zero(element)), *for_each_part(gradient, fresh, find), If(something, shrunk, ()))


def element_within(type_: Type) -> Scalar:
    """Return the scalar type of the first component that carries gradient."""
    return next(leaf.type for leaf in leaves(type_) if not leaf.no_diff)
