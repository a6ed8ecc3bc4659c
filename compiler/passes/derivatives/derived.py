"""Derive the missing mode of a function with one custom derivative from the other mode, by basis vectors.

    backward given:  f_fwd(x, dx) = (f(x), f_bwd(x, e_k) . dx for each component k of the result)
    forward given:   f_bwd(x, d_out) = f_fwd(x, e_k).d . d_out for each component k of the parameters

So forward and reverse mode agree.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from slangad.compiler.ir.build import (
    accumulate_inner,
    add,
    cast,
    for_each_scalar,
    inner,
    number,
    part,
    zero,
)
from slangad.compiler.ir.nodes import Assign, Return
from slangad.compiler.ir.types import Scalar, Tuple, is_scalar, leaves
from slangad.compiler.passes.derivatives.finite import on
from slangad.compiler.passes.derivatives.maker import gradients, make_pair, tangent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.nodes import Expr, Function, Param, Var
    from slangad.compiler.passes.derivatives.maker import Maker


def derived_forward(maker: Maker) -> Function:
    """Return a forward function from the custom backward function."""
    fresh = maker.fresh()
    result = maker.function.result
    value = maker.call(maker.primals())
    if isinstance(result, Scalar):
        body, slope = _product(maker, number(1.0, result), fresh)
        return maker.forward_function((*body, Return(make_pair(value, slope))))
    total, basis = fresh.scratch("slope", result), fresh.var("basis", result)

    def along(scalar: Expr) -> Block:
        one = (Assign(basis, zero(result)), Assign(on(scalar, total, basis), number(1.0, scalar.type)))
        product, slope = _product(maker, basis, fresh)
        return (*one, *product, Assign(scalar, cast(slope, scalar.type)))

    body = for_each_scalar(total, fresh, along)
    return maker.forward_function((Assign(total, zero(result)), *body, Return(make_pair(value, total))))


def _product(maker: Maker, seed: Expr, fresh: Fresh) -> tuple[Block, Expr]:
    """Return the sum of products of the gradients for a cotangent with the tangents of the parameters."""
    reverse = maker.reverse(maker.function.key, maker.primals(), seed)
    held = fresh.scratch("gradient", reverse.type)
    parts = [part(held, i) for i in range(len(reverse.type.elements))] if isinstance(reverse.type, Tuple) else [held]
    pairs = [v for p, v in zip(maker.function.params, maker.pairs(), strict=True) if p in maker.active]
    body, total = _sum([(g, tangent(v)) for g, v in zip(parts, pairs, strict=True)], element_of_seed(seed), fresh)
    return (Assign(held, reverse), *body), total


def _sum(products: list[tuple[Expr, Expr]], type_: Scalar, fresh: Fresh) -> tuple[Block, Expr]:
    """Return a sum of inner products: one expression if possible, else a local to which loops add."""
    terms = [inner(a, b, type_) for a, b in products]
    written = [t for t in terms if t is not None]
    if len(written) == len(terms):
        return (), reduce(add, written)
    total = fresh.scratch("total", type_)
    body: Block = (Assign(total, zero(type_)),)
    for a, b in products:
        body += accumulate_inner(total, a, b, fresh)
    return body, total


def derived_backward(maker: Maker, wanted: Sequence[Param] | None = None) -> Function:
    """Return a backward function from the custom forward function; with the gradients of some parameters if given."""
    wanted = maker.active if wanted is None else wanted
    fresh = maker.fresh()
    body: Block = ()
    result: list[Expr] = []
    for position, param in enumerate(maker.function.params):
        if param not in wanted:
            continue
        value = maker.values()[position]
        gradient = fresh.var(f"{param.name}_grad", param.type)
        body += () if is_scalar(param.type) else (Assign(gradient, zero(param.type)),)
        body += _along_parameter(maker, position, value, gradient, fresh)
        result.append(gradient)
    doc = (f"For reverse mode, which does not call the forward function of {maker.function.name}.",)
    returned = gradients(result)
    made = maker.backward_function((*body, returned))
    return replace(made, doc=doc, result=made.result if returned.value is None else returned.value.type)


def _along_parameter(maker: Maker, position: int, value: Expr, gradient: Var, fresh: Fresh) -> Block:
    """Return stores of the derivative along every scalar of a parameter, weighted by the cotangent."""
    basis = fresh.var(f"{maker.function.params[position].name}_basis", value.type)

    def along(scalar: Expr) -> Block:
        one = number(1.0, scalar.type)
        whole = scalar == value
        setup: Block = () if whole else (Assign(basis, zero(basis.type)), Assign(on(scalar, value, basis), one))
        slope = tangent(maker.forward(maker.function.key, _directions(maker, position, one if whole else basis)))
        held = fresh.scratch("slope", slope.type)
        body, total = _sum([(held, maker.seed)], as_scalar(scalar), fresh)
        return (*setup, Assign(held, slope), *body, Assign(on(scalar, value, gradient), total))

    return for_each_scalar(value, fresh, along)


def _directions(maker: Maker, position: int, direction: Expr) -> list[Expr]:
    """Return the arguments of the forward function: a tangent for one parameter, zero for the others."""
    args = []
    for index, (param, value) in enumerate(zip(maker.function.params, maker.values(), strict=True)):
        if param in maker.active:
            args.append(make_pair(value, direction if index == position else zero(value.type)))
        else:
            args.append(value)
    return args


def as_scalar(expr: Expr) -> Scalar:
    """Return the type of a scalar."""
    if not isinstance(expr.type, Scalar):
        raise TypeError(f"{expr.type} is not a scalar")
    return expr.type


def element_of_seed(seed: Expr) -> Scalar:
    """Return the type in which products with the gradients for a cotangent are summed."""
    return next(leaf.type for leaf in leaves(seed.type) if not leaf.no_diff)
