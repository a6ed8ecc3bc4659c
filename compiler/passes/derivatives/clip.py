"""Clip gradients: move the function's body to ``f_unclipped``, and clip the reverse-mode gradients of that.

    f(x) = body          ->    f_unclipped(x) = body
      clip_gradient(0.1)       f(x)            = f_unclipped(x)
                               f_bwd(x, d_out) = clamp(bwd_diff f_unclipped(x, d_out), -0.1, 0.1)
                               f_fwd(x, dx)    = fwd_diff f_unclipped(x, dx)

NaN becomes 0. Infinity becomes the limit.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
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
from slangad.compiler.passes.derivatives.maker import gradients

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.passes.derivatives.maker import Maker

_LARGEST: Final = {"half": 65504.0, "float": 3.4028234663852886e38, "double": 1.7976931348623157e308}


def clip_backward(maker: Maker, policy: ir.ClipGradient, moved: str) -> ir.Function:
    """Return a backward function that clips the gradients of ``moved``."""
    fresh = maker.fresh()
    setup, values = _take_gradients(maker, moved, fresh)
    body = setup
    for gradient in values:
        if policy.limit is not None:
            body += for_each_part(gradient, fresh, partial(_clamp, policy.limit))
        if policy.norm is not None:
            body += _clip_norm(gradient, policy.norm, fresh)
    return maker.backward_function((*body, gradients([*values])))


def clip_forward(maker: Maker, moved: str) -> ir.Function:
    """Return a forward function: forward mode of the unclipped function."""
    return maker.forward_function((ir.Return(maker.forward(moved, maker.pairs())),))


def _take_gradients(maker: Maker, moved: str, fresh: Fresh) -> tuple[Block, list[ir.Var]]:
    """Return statements that compute the unclipped gradients, and the locals that hold them."""
    reverse = maker.reverse(moved, maker.values(), maker.seed)
    locals_ = [fresh.var(f"{p.name}_grad", p.type) for p in maker.active]
    if not isinstance(reverse.type, types.Tuple):
        return (ir.Assign(locals_[0], reverse),), locals_
    all_ = fresh.var("unclipped", reverse.type)
    taken = tuple(ir.Assign(local, part(all_, i)) for i, local in enumerate(locals_))
    return (ir.Assign(all_, reverse), *taken), locals_


def _clamp(limit: float, gradient: ir.Expr) -> Block:
    return (ir.Assign(gradient, clamped(gradient, limit)),)


def clamped(gradient: ir.Expr, limit: float) -> ir.Expr:
    """Return a scalar or vector gradient with every component in ±limit, NaN as 0."""
    type_ = gradient.type
    bounded = call("clamp", type_, gradient, number(-limit, type_), number(limit, type_))
    invalid = call("isnan", types.with_element(type_, types.BOOL), gradient)
    if isinstance(type_, types.Scalar):
        return ir.Ternary(invalid, zero(type_), bounded, type_)
    return call("select", type_, invalid, number(0.0, type_), bounded)


def _clip_norm(gradient: ir.Var, norm: float, fresh: Fresh) -> Block:
    """Return statements that scale a gradient down to a norm. They divide by the largest component against overflow."""
    element = element_within(gradient.type)
    largest, squares = fresh.var("largest", element), fresh.var("squares", element)

    def find(g: ir.Expr) -> Block:
        parts = [part(g, k) for k in range(g.type.size)] if isinstance(g.type, types.Vector) else [g]
        sizes = [cast(call("abs", p.type, p), element) for p in parts]
        bound = (ir.Assign(g, clamped(g, _LARGEST[element.name])),)
        peak = reduce(lambda a, b: call("max", element, a, b), sizes)
        return (*bound, ir.Assign(largest, call("max", element, largest, peak)))

    def shrink(g: ir.Expr) -> Block:
        return (ir.Assign(g, divide(g, cast(largest, element_within(g.type)))),)

    def scale(g: ir.Expr) -> Block:
        factor = call("min", element, largest, divide(number(norm, element), call("sqrt", element, squares)))
        return (ir.Assign(g, multiply(g, cast(factor, element_within(g.type)))),)

    shrunk = (
        *for_each_part(gradient, fresh, shrink),
        ir.Assign(squares, zero(element)),
        *accumulate_inner(squares, gradient, gradient, fresh),
        *for_each_part(gradient, fresh, scale),
    )
    something = ir.Binary(">", largest, zero(element), types.BOOL)
    return (ir.Assign(largest, zero(element)), *for_each_part(gradient, fresh, find), ir.If(something, shrunk, ()))


def element_within(type_: types.Type) -> types.Scalar:
    """Return the scalar type of the first component that carries gradient."""
    return next(leaf.type for leaf in types.leaves(type_) if not leaf.no_diff)
