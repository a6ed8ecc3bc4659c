"""Lower the policies with short bodies: surrogate, straight-through, subgradient.

    surrogate(g)          f_bwd(x, d_out) = bwd_diff g(x, d_out)     f_fwd(x, dx) = (f(x), fwd_diff g(x, dx).d)
    straight_through()    f_bwd(x, d_out) = d_out                    f_fwd(x, dx) = (f(x), dx)
    subgradient(at, s)    f_bwd(x, d_out) = s * d_out if x == at     f_fwd(x, dx) = (f(x), s * dx) if x == at

Elsewhere a subgradient is the automatic derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import multiply, number
from slangad.compiler.ir.types import BOOL
from slangad.compiler.passes.derivatives.maker import gradients, make_pair, primal, tangent

if TYPE_CHECKING:
    from slangad.compiler.passes.derivatives.maker import Maker


def surrogate_backward(maker: Maker, policy: ir.Surrogate) -> ir.Function:
    """Return a backward function that gives the gradients of the surrogate."""
    return maker.backward_function((ir.Return(maker.reverse(policy.function, maker.values(), maker.seed)),))


def surrogate_forward(maker: Maker, policy: ir.Surrogate) -> ir.Function:
    """Return a forward function that gives the function's value and the surrogate's tangent."""
    direction = tangent(maker.forward(policy.function, maker.pairs()))
    return maker.forward_function((ir.Return(make_pair(maker.call(maker.primals()), direction)),))


def straight_backward(maker: Maker) -> ir.Function:
    """Return a backward function that gives the cotangent."""
    return maker.backward_function((ir.Return(maker.seed),))


def straight_forward(maker: Maker) -> ir.Function:
    """Return a forward function that gives the function's value and the parameter's tangent."""
    pair = next(v for p, v in zip(maker.function.params, maker.pairs(), strict=True) if p in maker.active)
    return maker.forward_function((ir.Return(make_pair(maker.call(maker.primals()), tangent(pair))),))


def subgradient_backward(maker: Maker, policy: ir.Subgradient, moved: str) -> ir.Function:
    """Return a backward function with the chosen derivative at the point, the automatic one elsewhere."""
    (param,) = maker.active
    value = next(v for p, v in zip(maker.function.params, maker.values(), strict=True) if p is param)
    at_point = ir.Binary("==", value, number(policy.at, param.type), BOOL)
    automatic = maker.reverse(moved, maker.values(), maker.seed)
    chosen = gradients([multiply(number(policy.value, param.type), maker.seed)])
    return maker.backward_function((ir.If(at_point, (chosen,), ()), ir.Return(automatic)))


def subgradient_forward(maker: Maker, policy: ir.Subgradient, moved: str) -> ir.Function:
    """Return a forward function with the chosen derivative at the point, the automatic one elsewhere."""
    (param,) = maker.active
    pair = next(v for p, v in zip(maker.function.params, maker.pairs(), strict=True) if p is param)
    at_point = ir.Binary("==", primal(pair), number(policy.at, param.type), BOOL)
    direction = multiply(number(policy.value, param.type), tangent(pair))
    chosen = ir.Return(make_pair(maker.call(maker.primals(), moved), direction))
    return maker.forward_function((ir.If(at_point, (chosen,), ()), ir.Return(maker.forward(moved, maker.pairs()))))
