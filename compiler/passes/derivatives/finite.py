"""Compute central differences over every component of every differentiable parameter, in both modes.

    x_grad = <f(x + h) - f(x - h), d_out> / ((x + h) - (x - h))

The divisor is ``2 h`` after rounding, so that a step below the spacing of floats near ``x`` gives NaN, not zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from slangad.compiler.ir.build import (
    accumulate_inner,
    accumulate_scaled,
    add,
    call,
    cast,
    divide,
    for_each_scalar,
    inner,
    multiply,
    number,
    subtract,
    zero,
)
from slangad.compiler.ir.nodes import Assign, Return
from slangad.compiler.ir.types import Scalar, Vector, is_scalar
from slangad.compiler.ir.walk import rewrite
from slangad.compiler.passes.derivatives.maker import gradients, make_pair, primal, tangent

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.nodes import Expr, FiniteDifference, Function
    from slangad.compiler.passes.derivatives.maker import Maker


def finite_backward(maker: Maker, policy: FiniteDifference) -> Function:
    """Return a backward function by central differences."""
    differences = _Differences(maker, policy, maker.fresh(), maker.values())
    body: Block = ()
    result: list[Expr] = []
    for position, param in enumerate(maker.function.params):
        if param not in maker.active:
            continue
        value = differences.values[position]
        gradient = differences.fresh.var(f"{param.name}_grad", param.type)
        body += () if is_scalar(param.type) else (Assign(gradient, zero(param.type)),)
        body += differences.over(position, _StoreGradient(maker, differences.fresh, value, gradient))
        result.append(gradient)
    return maker.backward_function((*body, gradients(result)))


def finite_forward(maker: Maker, policy: FiniteDifference) -> Function:
    """Return a forward function by the same differences."""
    differences = _Differences(maker, policy, maker.fresh(), maker.primals())
    total = differences.fresh.var("slope", maker.function.result)
    body: Block = (Assign(total, zero(total.type)),)
    for position, (param, pair) in enumerate(zip(maker.function.params, maker.pairs(), strict=True)):
        if param in maker.active:
            body += differences.over(position, _AddSlope(differences.fresh, pair, total))
    value = maker.call(maker.primals())
    return maker.forward_function((*body, Return(make_pair(value, total))))


class _Use(Protocol):
    """A use of the change of the result when one scalar moves up and down."""

    def __call__(self, scalar: Expr, change: Expr, width: Expr) -> Block: ...


@dataclass(frozen=True, slots=True)
class _Differences:
    """Evaluates a function on both sides of its arguments, ``values``."""

    maker: Maker
    policy: FiniteDifference
    fresh: Fresh
    values: list[Expr]

    def over(self, position: int, use: _Use) -> Block:
        """Return the differences along every scalar of one parameter."""
        value, name = self.values[position], self.maker.function.params[position].name
        up, down = self.fresh.var(f"{name}_up", value.type), self.fresh.var(f"{name}_down", value.type)

        def move(scalar: Expr) -> Block:
            before, step = self._step(scalar)
            high, low = on(scalar, value, up), on(scalar, value, down)
            body = before
            for side, moved, target in ((up, add(scalar, step), high), (down, subtract(scalar, step), low)):
                body += () if is_scalar(value.type) else (Assign(side, value),)
                body += (Assign(target, moved),)
            setup, change = self._change(self._at(position, up), self._at(position, down))
            return (*body, *setup, *use(scalar, change, subtract(high, low)))

        return for_each_scalar(value, self.fresh, move)

    def _step(self, scalar: Expr) -> tuple[Block, Expr]:
        step = number(self.policy.step, scalar.type)
        if not self.policy.relative:
            return (), step
        size = call("max", scalar.type, number(1.0, scalar.type), call("abs", scalar.type, scalar))
        scaled = self.fresh.scratch("step", scalar.type)
        return (Assign(scaled, multiply(step, size)),), scaled

    def _at(self, position: int, moved: Expr) -> Expr:
        return self.maker.call([*self.values[:position], moved, *self.values[position + 1 :]])

    def _change(self, high: Expr, low: Expr) -> tuple[Block, Expr]:
        if isinstance(high.type, (Scalar, Vector)):
            return (), subtract(high, low)
        change = self.fresh.scratch("change", high.type)
        other = self.fresh.scratch("low", high.type)
        negative = number(-1.0, Scalar("float"))
        subtracted = accumulate_scaled(change, other, negative, self.fresh)
        return (Assign(change, high), Assign(other, low), *subtracted), change


@dataclass(frozen=True, slots=True)
class _StoreGradient:
    """Stores the slope along a scalar, weighted by the cotangent, into the gradient."""

    maker: Maker
    fresh: Fresh
    value: Expr
    gradient: Expr

    def __call__(self, scalar: Expr, change: Expr, width: Expr) -> Block:
        target = on(scalar, self.value, self.gradient)
        weighted = inner(change, self.maker.seed, scalar.type)
        if weighted is not None:
            return (Assign(target, divide(weighted, width)),)
        total = self.fresh.scratch("total", scalar.type)
        summed = accumulate_inner(total, change, self.maker.seed, self.fresh)
        return (Assign(total, zero(total.type)), *summed, Assign(target, divide(total, width)))


@dataclass(frozen=True, slots=True)
class _AddSlope:
    """Adds the slope along a scalar, times its tangent, to the tangent of the result."""

    fresh: Fresh
    pair: Expr
    total: Expr

    def __call__(self, scalar: Expr, change: Expr, width: Expr) -> Block:
        direction = on(scalar, primal(self.pair), tangent(self.pair))
        return accumulate_scaled(self.total, change, divide(cast(direction, width.type), width), self.fresh)


def on(expr: Expr, old: Expr, new: Expr) -> Expr:
    """Return the same part of another value."""
    return rewrite(expr, lambda e: new if e == old else e)
