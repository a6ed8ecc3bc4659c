"""Make the functions that compute another function's derivative: signatures, and values for their bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import DiffPair, Tuple, Type
from slangad.compiler.ir.verify.module import gets_gradient, gradient_type

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block


@dataclass(frozen=True, slots=True)
class Maker:
    """A function whose derivative is generated; ``keys`` gives keys for new functions."""

    function: ir.Function
    keys: Fresh

    @property
    def active(self) -> tuple[ir.Param, ...]:
        """Return the parameters that carry gradient."""
        return tuple(p for p in self.function.params if gets_gradient(p))

    @property
    def seed(self) -> ir.Var:
        """Return the cotangent of the result."""
        return ir.Var(Fresh({p.name for p in self.function.params}).name("d_out"), self.function.result)

    def fresh(self) -> Fresh:
        """Return names for locals of a derivative."""
        return Fresh({*(p.name for p in self.function.params), self.seed.name})

    def values(self) -> list[ir.Expr]:
        """Return the parameters as a backward function sees them."""
        return [ir.Var(p.name, p.type) for p in self.function.params]

    def pairs(self) -> list[ir.Expr]:
        """Return the parameters as a forward function sees them: pairs where they carry gradient."""
        return [ir.Var(p.name, DiffPair(p.type) if gets_gradient(p) else p.type) for p in self.function.params]

    def primals(self) -> list[ir.Expr]:
        """Return the values of a forward function's parameters."""
        return [primal(v) if isinstance(v.type, DiffPair) else v for v in self.pairs()]

    def call(self, args: list[ir.Expr], function: str = "") -> ir.Expr:
        """Return a call of the function, or of another one that gives the same type."""
        return ir.Call(function or self.function.key, tuple(args), self.function.result)

    def reverse(self, function: str, args: list[ir.Expr], seed: ir.Expr) -> ir.Expr:
        """Return the gradients by reverse mode of this or another function with the same parameters."""
        return ir.BackwardCall(function, (*args, seed), gradient_type(self.function.params))

    def forward(self, function: str, args: list[ir.Expr]) -> ir.Expr:
        """Return value and tangent by forward mode of this or another function with the same parameters."""
        return ir.ForwardCall(function, tuple(args), DiffPair(self.function.result))

    def backward_function(self, body: Block) -> ir.Function:
        """Return a function ``f_bwd`` with this body."""
        params = tuple(replace(p, no_diff=False) for p in self.function.params)
        seed = ir.Param(self.seed.name, self.function.result)
        return self._derivative("bwd", ir.Role.BACKWARD, (*params, seed), gradient_type(self.function.params), body)

    def forward_function(self, body: Block) -> ir.Function:
        """Return a function ``f_fwd`` with this body."""
        params = tuple(
            replace(p, type=v.type, no_diff=False) for p, v in zip(self.function.params, self.pairs(), strict=True)
        )
        return self._derivative("fwd", ir.Role.FORWARD, params, DiffPair(self.function.result), body)

    def _derivative(
        self, suffix: str, role: ir.Role, params: tuple[ir.Param, ...], result: Type, body: Block
    ) -> ir.Function:
        of = self.function
        doc = (f"For forward mode, which does not call {of.name}_bwd.",) if role is ir.Role.FORWARD else ()
        return ir.Function(
            key=self.keys.name(f"{of.key}:{suffix}"),
            name=f"{of.name}_{suffix}",
            params=params,
            result=result,
            body=body,
            differentiable=False,
            role=role,
            of=of.key,
            owner=of.owner,
            static=bool(of.owner),
            span=of.span,
            doc=doc,
        )

    def moved(self, suffix: str) -> ir.Function:
        """Return a new function with the function's body, such as ``f_unclipped``, for the function to call."""
        key, name = self.keys.name(f"{self.function.key}:{suffix}"), f"{self.function.name}_{suffix}"
        return replace(self.function, key=key, name=name, doc=(), ranges=())

    def calling(self, moved: ir.Function) -> ir.Function:
        """Return the function with a call of the new function as its only statement."""
        return replace(self.function, body=(ir.Return(self.call(self.values(), moved.key)),))


def with_custom(function: ir.Function, backward: ir.Function, forward: ir.Function) -> tuple[ir.Function, ...]:
    """Return the function followed by its derivatives."""
    return replace(function, derivative=ir.Custom(backward.key, forward.key)), backward, forward


def primal(pair: ir.Expr) -> ir.Expr:
    """Return the value of a pair."""
    return ir.Member(pair, "p", _of(pair))


def tangent(pair: ir.Expr) -> ir.Expr:
    """Return the tangent of a pair."""
    return ir.Member(pair, "d", _of(pair))


def _of(pair: ir.Expr) -> Type:
    if not isinstance(pair.type, DiffPair):
        raise TypeError(f"{pair.type} is not a pair")
    return pair.type.primal


def make_pair(value: ir.Expr, direction: ir.Expr) -> ir.Expr:
    """Return a pair of value and tangent."""
    return ir.MakePair(value, direction, DiffPair(value.type))


def gradients(values: list[ir.Expr]) -> ir.Return:
    """Return the return statement of a backward function."""
    if len(values) == 1:
        return ir.Return(values[0])
    return ir.Return(ir.Construct(tuple(values), Tuple(tuple(v.type for v in values))))
