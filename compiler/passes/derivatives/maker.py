"""Make the functions that compute another function's derivative: signatures, and values for their bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.nodes import (
    BackwardCall,
    Call,
    Construct,
    Custom,
    Expr,
    ForwardCall,
    Function,
    MakePair,
    Member,
    Param,
    Return,
    Role,
    Var,
)
from slangad.compiler.ir.types import DiffPair, Tuple, Type
from slangad.compiler.ir.verify.module import gets_gradient, gradient_type

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block


@dataclass(frozen=True, slots=True)
class Maker:
    """What is known of a function whose derivative is made; ``keys`` gives keys for new functions."""

    function: Function
    keys: Fresh

    @property
    def active(self) -> tuple[Param, ...]:
        """The parameters that carry gradient."""
        return tuple(p for p in self.function.params if gets_gradient(p))

    @property
    def seed(self) -> Var:
        """The cotangent of the result."""
        return Var(Fresh({p.name for p in self.function.params}).name("d_out"), self.function.result)

    def fresh(self) -> Fresh:
        """Return names for locals of a derivative."""
        return Fresh({*(p.name for p in self.function.params), self.seed.name})

    def values(self) -> list[Expr]:
        """Return the parameters as a backward function sees them."""
        return [Var(p.name, p.type) for p in self.function.params]

    def pairs(self) -> list[Expr]:
        """Return the parameters as a forward function sees them: pairs where they carry gradient."""
        return [Var(p.name, DiffPair(p.type) if gets_gradient(p) else p.type) for p in self.function.params]

    def primals(self) -> list[Expr]:
        """Return the values of a forward function's parameters."""
        return [primal(v) if isinstance(v.type, DiffPair) else v for v in self.pairs()]

    def call(self, args: list[Expr], function: str = "") -> Expr:
        """Return a call of the function, or of another one that gives the same type."""
        return Call(function or self.function.key, tuple(args), self.function.result)

    def reverse(self, function: str, args: list[Expr], seed: Expr) -> Expr:
        """Return the gradients by reverse mode of this or another function with the same parameters."""
        return BackwardCall(function, (*args, seed), gradient_type(self.function.params))

    def forward(self, function: str, args: list[Expr]) -> Expr:
        """Value and tangent by forward mode of this or another function with the same parameters."""
        return ForwardCall(function, tuple(args), DiffPair(self.function.result))

    def backward_function(self, body: Block) -> Function:
        """Return a function ``f_bwd`` with this body."""
        params = tuple(replace(p, no_diff=False) for p in self.function.params)
        seed = Param(self.seed.name, self.function.result)
        return self._derivative("bwd", Role.BACKWARD, (*params, seed), gradient_type(self.function.params), body)

    def forward_function(self, body: Block) -> Function:
        """Return a function ``f_fwd`` with this body."""
        params = tuple(
            replace(p, type=v.type, no_diff=False) for p, v in zip(self.function.params, self.pairs(), strict=True)
        )
        return self._derivative("fwd", Role.FORWARD, params, DiffPair(self.function.result), body)

    def _derivative(self, suffix: str, role: Role, params: tuple[Param, ...], result: Type, body: Block) -> Function:
        of = self.function
        return Function(
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
        )

    def moved(self, suffix: str) -> Function:
        """Return the function's body under a name of its own, ``f_unclipped``, for the function to call."""
        key, name = self.keys.name(f"{self.function.key}:{suffix}"), f"{self.function.name}_{suffix}"
        return replace(self.function, key=key, name=name, doc=(), ranges=())

    def calling(self, moved: Function) -> Function:
        """Return the function with nothing left in its body but a call of where that was moved."""
        return replace(self.function, body=(Return(self.call(self.values(), moved.key)),))


def with_custom(function: Function, backward: Function, forward: Function) -> tuple[Function, ...]:
    """Return the function with its derivatives, which stand after it."""
    return replace(function, derivative=Custom(backward.key, forward.key)), backward, forward


def primal(pair: Expr) -> Expr:
    """Return the value of a pair."""
    return Member(pair, "p", _of(pair))


def tangent(pair: Expr) -> Expr:
    """Return the tangent of a pair."""
    return Member(pair, "d", _of(pair))


def _of(pair: Expr) -> Type:
    if not isinstance(pair.type, DiffPair):
        raise TypeError(f"{pair.type} is not a pair")
    return pair.type.primal


def make_pair(value: Expr, direction: Expr) -> Expr:
    """Return a pair of value and tangent."""
    return MakePair(value, direction, DiffPair(value.type))


def gradients(values: list[Expr]) -> Return:
    """Return the return of a backward function."""
    if len(values) == 1:
        return Return(values[0])
    return Return(Construct(tuple(values), Tuple(tuple(v.type for v in values))))
