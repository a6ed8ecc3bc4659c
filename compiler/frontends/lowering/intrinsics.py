"""Calls of intrinsics: the row's type rule decides, arguments are converted, literals get their type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering.conversions import convert, retype, spread
from slangad.compiler.ir import types
from slangad.compiler.ir.nodes import Cast, Expr, Intrinsic
from slangad.compiler.lang.errors import TypeRuleError
from slangad.compiler.lang.intrinsics import INTRINSICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.lang.intrinsics.model import IntrinsicRow as Row


def call_intrinsic(ctx: Context, name: str, args: Sequence[Expr], span: Span, arg_spans: Sequence[Span]) -> Expr:
    """Return an intrinsic of lowered arguments.

    Args:
        ctx: The body being lowered.
        name: The row's name.
        args: One per parameter; variadic rows take two or more and are nested from the left.
        span: The call, for errors that concern no single argument.
        arg_spans: The arguments' locations.

    Raises:
        Rejected: when the typing rule refuses the arguments.
    """
    row = INTRINSICS[name]
    try:
        signature = row.rule([a.type for a in args])
    except TypeRuleError as error:
        if error.argument is None:
            raise ctx.error("SA015", span, _as_written(error.message, row), help=_as_written(error.help, row)) from None
        raise ctx.error("SA014", arg_spans[error.argument], error.message, help=error.help) from None
    adapted = tuple(adapt(ctx, a, t) for a, t in zip(args, signature.params, strict=True))
    if row.variadic and len(adapted) > 2:
        nested: Expr = Intrinsic(name, adapted[:2], signature.result, span)
        for arg in adapted[2:]:
            nested = Intrinsic(name, (nested, arg), signature.result, span)
        return nested
    if row.cast_of:
        return Cast(Intrinsic(row.cast_of, adapted, signature.params[0], span), signature.result, span)
    return Intrinsic(name, adapted, signature.result, span)


def _as_written(text: str, row: Row) -> str:
    """Return the name for messages: Python's ``round`` has a row of another name."""
    return text.replace(row.name, "round") if row.name == "round_to_int" else text


def adapt(ctx: Context, expr: Expr, wanted: types.Type) -> Expr:
    """Return an argument as the rule's type: retyped, converted, spread."""
    if expr.type == wanted:
        return expr
    if types.is_scalar(expr.type) and isinstance(wanted, (types.Vector, types.Matrix)):
        return spread(ctx, expr, wanted)
    if isinstance(expr.type, types.Weak):
        return retype(ctx, expr, wanted)
    return convert(expr, wanted) if types.element_of(wanted) is not None else expr
