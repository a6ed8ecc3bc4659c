"""Calls of types: scalars and vectors convert, repeat and concatenate; arrays take items; structs take fields."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering.conversions import as_float, coerce, does_not_fit, literal_value, retype
from slangad.compiler.frontends.lowering.entities import ArrayEntity, TypeEntity
from slangad.compiler.frontends.reading.signatures import MISSING, Parameter
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context


def construct(ctx: Context, node: ast.Call, type_: types.Type) -> ir.Expr:
    """Lower ``type(arguments)``."""
    if isinstance(type_, types.Struct):
        return _struct(ctx, node, type_)
    if node.keywords:
        raise ctx.error("SA015", ctx.span(node.func), f"{types.show(type_)} takes no keyword arguments")
    args = ctx.exprs(node.args)
    spans = [ctx.span(a) for a in node.args]
    match type_:
        case types.Scalar():
            return _scalar(ctx, node, type_, args, spans)
        case types.Vector():
            return _vector(ctx, node, type_, args, spans)
        case types.Matrix():
            return _matrix(ctx, node, type_, args, spans)
        case types.Array():
            return _array(ctx, node, type_, args, spans)
        case _:
            raise ctx.error("SA026", ctx.span(node.func), f"{types.show(type_)} can't be constructed")


def array_type(ctx: Context, node: ast.Subscript) -> types.Type:
    """Return the type of ``Array[T, N]`` in a body.

    Raises:
        Rejected: when it is no array type.
    """
    from slangad.compiler.frontends.lowering.expressions import entity_of

    entity = entity_of(ctx, node.value)
    if not isinstance(entity, (ArrayEntity, TypeEntity)):
        raise ctx.error("SA026", ctx.span(node), "this can't be called")
    return ctx.annotation(node)


def convert_scalar(ctx: Context, value: ir.Expr, type_: types.Scalar, span: Span) -> ir.Expr:
    """Lower ``float(x)``, ``int(x)``, ``bool(x)`` and similar calls."""
    if not types.is_scalar(value.type):
        raise ctx.error(
            "SA014",
            span,
            f"{type_.name}(…) takes one number, not {types.show(value.type)}",
            label=types.show(value.type),
            help=f"write {types.show(types.with_element(value.type, type_))}(…)"
            if types.element_of(value.type)
            else "",
        )
    if isinstance(value, ir.Const) and isinstance(value.type, types.Weak):
        number = _literal_as(ctx, value, type_)
        return ir.Const(number, type_, value.span, value.formula if number == value.value else None)
    if isinstance(value.type, types.Weak):
        value = retype(ctx, value, types.strengthen(value.type))
    return convert_element(value, type_)


def _literal_as(ctx: Context, literal: ir.Const, type_: types.Scalar) -> int | float | bool:
    value = literal.value
    if type_ == types.BOOL:
        return bool(value)
    if type_.name in types.FLOATING:
        return as_float(ctx, value, literal.span)
    if isinstance(value, float) and not math.isfinite(value):
        raise does_not_fit(ctx, value, type_, literal.span)
    if type_.name == "uint" and isinstance(value, int):
        return value % 2**32
    return literal_value(ctx, ir.Const(int(value), literal.type, literal.span), type_)


def convert_element(value: ir.Expr, type_: types.Type) -> ir.Expr:
    """Return a conversion by component; a component becomes True if it is not zero."""
    element = types.element_of(type_)
    if element == types.BOOL and types.element_of(value.type) != types.BOOL:
        return ir.Binary("!=", value, zero(value.type), types.with_element(value.type, types.BOOL), value.span)
    return value if value.type == type_ else ir.Cast(value, type_, value.span)


def _scalar(
    ctx: Context, node: ast.Call, type_: types.Scalar, args: Sequence[ir.Expr], spans: Sequence[Span]
) -> ir.Expr:
    if len(args) != 1:
        raise ctx.error("SA015", ctx.span(node.func), f"{type_.name}(…) takes 1 argument, not {len(args)}")
    return convert_scalar(ctx, args[0], type_, spans[0])


def _vector(
    ctx: Context, node: ast.Call, type_: types.Vector, args: Sequence[ir.Expr], spans: Sequence[Span]
) -> ir.Expr:
    span = ctx.span(node)
    if not args:
        return ir.Construct((), type_, span)
    if len(args) == 1 and types.is_scalar(args[0].type):
        return ir.Construct((convert_scalar(ctx, args[0], type_.element, spans[0]),), type_, span)
    if len(args) == 1 and isinstance(args[0].type, types.Vector) and args[0].type.size == type_.size:
        return ctx.copy(convert_element(args[0], type_))
    parts: list[ir.Expr] = []
    count = 0
    for arg, at in zip(args, spans, strict=True):
        if isinstance(arg.type, types.Vector):
            parts.append(convert_element(arg, types.Vector(type_.element, arg.type.size)))
            count += arg.type.size
        else:
            parts.append(convert_scalar(ctx, arg, type_.element, at))
            count += 1
    if count != type_.size:
        raise ctx.error(
            "SA015",
            ctx.span(node.func),
            f"{types.show(type_)} takes {type_.size} components, not {count}",
            help=f"{types.show(type_)}(x) spreads one value"
            if count < type_.size
            else f"take {type_.size} of them, for example v.{'xyzw'[: type_.size]}",
        )
    return ir.Construct(tuple(parts), type_, span)


def _matrix(
    ctx: Context, node: ast.Call, type_: types.Matrix, args: Sequence[ir.Expr], spans: Sequence[Span]
) -> ir.Expr:
    span = ctx.span(node)
    row = types.Vector(type_.element, type_.columns)
    if not args:
        return ir.Construct((), type_, span)
    if (
        len(args) == 1
        and isinstance(args[0].type, types.Matrix)
        and types.with_element(args[0].type, types.BOOL) == types.with_element(type_, types.BOOL)
    ):
        return ctx.copy(convert_element(args[0], type_))
    if len(args) == 1 and types.is_scalar(args[0].type):
        return ir.Construct((convert_scalar(ctx, args[0], type_.element, spans[0]),), type_, span)
    if len(args) == type_.rows and all(isinstance(a.type, types.Vector) and a.type.size == type_.columns for a in args):
        return ir.Construct(tuple(convert_element(a, row) for a in args), type_, span)
    if len(args) == type_.rows * type_.columns and all(types.is_scalar(a.type) for a in args):
        scalars = [convert_scalar(ctx, a, type_.element, s) for a, s in zip(args, spans, strict=True)]
        n = type_.columns
        rows = (ir.Construct(tuple(scalars[i : i + n]), row, span) for i in range(0, len(scalars), n))
        return ir.Construct(tuple(rows), type_, span)
    raise ctx.error(
        "SA015",
        ctx.span(node.func),
        f"{types.show(type_)} takes {type_.rows} rows of {type_.columns}, all entries, or one value",
    )


def _array(ctx: Context, node: ast.Call, type_: types.Array, args: Sequence[ir.Expr], spans: Sequence[Span]) -> ir.Expr:
    if not args:
        return ir.Construct((), type_, ctx.span(node))
    if len(args) == 1 and type_.size > 1 and isinstance(args[0], (ir.Const, ir.ConstantRef, ir.Var)):
        args, spans = list(args) * type_.size, list(spans) * type_.size
    if len(args) != type_.size:
        help_ = "give the one value a name first, to repeat it" if len(args) == 1 else ""
        raise ctx.error(
            "SA015",
            ctx.span(node.func),
            f"{types.show(type_)} takes {type_.size} entries, none (zeros), or one to repeat, not {len(args)}",
            help=help_,
        )
    entries = [
        coerce(ctx, a, type_.element, s, what="an entry", code="SA014") for a, s in zip(args, spans, strict=True)
    ]
    return ir.Construct(tuple(entries), type_, ctx.span(node))


def _struct(ctx: Context, node: ast.Call, type_: types.Struct) -> ir.Expr:
    from slangad.compiler.frontends.lowering.calls import bind_arguments

    defaults = ctx.scope.defaults(type_)
    params = [Parameter(f.name, f.type, default=defaults.get(f.name, MISSING)) for f in type_.fields]
    if ctx.role is not ir.Role.BACKWARD:
        return ir.Construct(
            bind_arguments(ctx, node, type_.name, params, node.args, node.keywords), type_, ctx.span(node)
        )
    return _gradient(ctx, node, type_, params)


def _gradient(ctx: Context, node: ast.Call, type_: types.Struct, params: list[Parameter]) -> ir.Expr:
    """Return a gradient of a struct; omitted fields that carry no gradient become zero."""
    from slangad.compiler.frontends.lowering.calls import bind_arguments

    passive = {f.name for f in type_.fields if f.no_diff or not types.carries_gradient(f.type)}
    names = {k.arg for k in node.keywords}
    bound = [p for i, p in enumerate(params) if p.name not in passive or p.name in names or i < len(node.args)]
    args = dict(
        zip(
            (p.name for p in bound), bind_arguments(ctx, node, type_.name, bound, node.args, node.keywords), strict=True
        )
    )
    return ir.Construct(tuple(args.get(f.name) or zero(f.type) for f in type_.fields), type_, ctx.span(node))


def zero(type_: types.Type) -> ir.Expr:
    """Return all zeros."""
    if isinstance(type_, types.Scalar):
        return ir.Const(False if type_.name == "bool" else 0.0 if type_.name in types.FLOATING else 0, type_)
    return ir.Construct((), type_)
