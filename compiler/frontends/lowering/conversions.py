"""Implicit conversions: literals take the type of their context, ``int`` becomes floating."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.frontends.reading.problems import Rejected


def retype(ctx: Context, expr: ir.Expr, type_: types.Type) -> ir.Expr:
    """Give an expression made of literals the scalar type of its context."""
    if not isinstance(expr.type, types.Weak):
        return convert(expr, type_)
    match expr:
        case ir.Const():
            return replace(expr, value=literal_value(ctx, expr, type_), type=type_)
        case ir.ConstantRef(key=key):
            return _retype_constant(ctx, expr, key, type_)
        case ir.Unary(operand=x):
            return replace(expr, operand=retype(ctx, x, type_), type=type_)
        case ir.Binary(left=a, right=b):
            return replace(expr, left=retype(ctx, a, type_), right=retype(ctx, b, type_), type=type_)
        case ir.Ternary(then=a, other=b):
            return replace(expr, then=retype(ctx, a, type_), other=retype(ctx, b, type_), type=type_)
        case ir.Var():
            return replace(expr, type=type_)
        case _:
            return ir.Cast(expr, type_, expr.span)


RANGES: Final = {"int": (-(2**31), 2**31 - 1), "uint": (0, 2**32 - 1)}


def literal_value(ctx: Context, literal: ir.Const, type_: types.Type) -> int | float | bool:
    """Return a literal's value in the type of its context."""
    value = literal.value
    if not isinstance(type_, (types.Scalar, types.Weak)):
        return value
    if type_.name in types.FLOATING:
        return as_float(ctx, value, literal.span)
    low, high = RANGES.get(type_.name, (value, value))
    if isinstance(type_, types.Scalar) and not low <= value <= high:
        raise does_not_fit(ctx, value, type_, literal.span)
    return value


def as_float(ctx: Context, value: float, span: Span) -> float:
    """Return a literal as a floating one.

    Raises:
        Rejected: if it is an integer larger than any float.
    """
    try:
        return math.nan if value != value else float(value)  # noqa: PLR0124  (true for nan; there is one nan here)
    except OverflowError:
        raise does_not_fit(ctx, value, types.FLOAT, span) from None


def does_not_fit(ctx: Context, value: float, type_: types.Scalar, span: Span) -> Rejected:
    """Report a literal outside the range of its type."""
    text = str(value) if abs(value) < 10**24 else "this number"
    low, high = RANGES.get(type_.name, (0, 0))
    return ctx.error(
        "SA013", span, f"{text} does not fit {types.show(type_)}",
        help=f"{types.show(type_)} holds {low} to {high}" if high else "",
    )  # fmt: skip


def _retype_constant(ctx: Context, expr: ir.ConstantRef, key: str, type_: types.Type) -> ir.Expr:
    if type_ in (types.Scalar("float"), types.Weak("float")):
        return replace(expr, type=type_)
    return ir.Const(ctx.constants.weak_value(key), type_, expr.span, expr)


def convert(expr: ir.Expr, type_: types.Type) -> ir.Expr:
    """Return the same value in another element type, as ``Cast`` if the type differs."""
    if expr.type == type_:
        return expr
    if isinstance(expr, ir.Const) and isinstance(type_, types.Scalar) and type_.name in types.FLOATING:
        return replace(expr, value=float(expr.value), type=type_)
    return ir.Cast(expr, type_, expr.span)


def strong(ctx: Context, expr: ir.Expr) -> ir.Expr:
    """Return the expression; a literal gets its default type."""
    if isinstance(expr, ir.Construct) and isinstance(expr.type, types.Tuple):
        args = tuple(strong(ctx, a) for a in expr.args)
        return replace(expr, args=args, type=types.Tuple(tuple(a.type for a in args)))
    return retype(ctx, expr, types.strengthen(expr.type)) if isinstance(expr.type, types.Weak) else expr


def fits(actual: types.Type, wanted: types.Type) -> bool:
    """Return True if a value converts implicitly to ``wanted``: literals, and ``int`` to floating."""
    if actual == wanted:
        return True
    if types.is_scalar(actual) and isinstance(wanted, types.Scalar):
        assert isinstance(actual, (types.Scalar, types.Weak))  # noqa: S101  (checked by is_scalar)
        return types.join_scalars(actual, wanted) == wanted
    return False


def coerce(ctx: Context, expr: ir.Expr, wanted: types.Type, span: Span, *, what: str, code: str = "SA013") -> ir.Expr:
    """Return the expression as a value of a declared type.

    Raises:
        Rejected: if the type does not convert implicitly; ``what`` names the value in the message.
    """
    if expr.type == wanted:
        return expr
    if isinstance(wanted, types.Tuple) and isinstance(expr, ir.Construct) and len(expr.args) == len(wanted.elements):
        pairs = zip(expr.args, wanted.elements, strict=True)
        args = tuple(coerce(ctx, a, t, a.span, what=what, code=code) for a, t in pairs)
        return replace(expr, args=args, type=wanted)
    if not fits(expr.type, wanted):
        raise ctx.error(
            code,
            span,
            f"{what} must be {types.show(wanted)}, not {_found(expr.type)}",
            label=types.show(types.strengthen(expr.type)),
            help=conversion_help(expr.type, wanted),
        )
    return retype(ctx, expr, wanted) if isinstance(expr.type, types.Weak) else convert(expr, wanted)


def _found(type_: types.Type) -> str:
    return (
        f"{'an' if types.show(type_).startswith('int') else 'a'} {types.show(type_)}"
        if isinstance(type_, types.Weak)
        else types.show(type_)
    )


def conversion_help(actual: types.Type, wanted: types.Type) -> str:
    """Return the help with the conversion from one type to another, or an empty text."""
    if types.is_scalar(actual) and isinstance(wanted, (types.Vector, types.Matrix)):
        return f"write {types.show(wanted)}(…) to spread one value over all components"
    if types.is_scalar(actual) and isinstance(wanted, types.Scalar):
        if wanted.name == "bool":
            return "compare it, for example x != 0"
        prefix = "" if wanted.name in ("float", "int", "bool") else "sa."
        return f"convert with {prefix}{wanted.name}(…)"
    match actual, wanted:
        case types.Vector(element, size), types.Array(inner, length) if (element, size) == (inner, length):
            return f"write {types.show(wanted)}({', '.join(f'v.{c}' for c in 'xyzw'[:size])})"
        case types.Array(inner, length), types.Vector(element, size) if (element, size) == (inner, length):
            return f"write {types.show(wanted)}({', '.join(f'a[{i}]' for i in range(size))})"
        case types.Array(inner, 1), _ if inner == wanted:
            return "take its entry: …[0]"
        case _, types.Array(inner, 1) if fits(actual, inner):
            return f"write {types.show(wanted)}(…)"
        case _:
            return ""


def spread(ctx: Context, expr: ir.Expr, type_: types.Type) -> ir.Expr:
    """Convert an operand to the common type: first the element, then repeated over components."""
    element = types.element_of(type_)
    assert element is not None  # noqa: S101  (only scalars, vectors and matrices meet)
    if types.is_scalar(type_):
        return retype(ctx, expr, type_)
    if types.is_scalar(expr.type):
        return ir.Construct((retype(ctx, expr, element),), type_, expr.span)
    return convert(expr, types.with_element(expr.type, element))


def meet(ctx: Context, left: ir.Expr, right: ir.Expr, span: Span, what: str) -> tuple[ir.Expr, ir.Expr, types.Type]:
    """Convert two operands to one type.

    Raises:
        Rejected: if they have no common type.
    """
    joined = types.join(left.type, right.type)
    if joined is None:
        raise ctx.error(
            "SA013",
            span,
            f"{what} does not take {types.show(left.type)} and {types.show(right.type)}",
            label=f"{types.show(left.type)} and {types.show(right.type)}",
            help=_meeting_help(left.type, right.type),
        )
    return spread(ctx, left, joined), spread(ctx, right, joined), joined


def _meeting_help(a: types.Type, b: types.Type) -> str:
    ea, eb = types.element_of(a), types.element_of(b)
    if ea is None or eb is None:
        return ""
    names = {ea.name, eb.name}
    if "bool" in names:
        return "convert the bool to a number with int(…) or float(…)"
    if names == {"int", "uint"}:
        return "cast one side: int(…) or sa.uint(…)"
    if ea != eb:
        return "half, float, double and uint do not mix by themselves: convert one side"
    return "the shapes differ"
