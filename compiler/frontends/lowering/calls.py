"""Calls of described functions and methods, intrinsics, types, and forms."""

from __future__ import annotations

import ast
import contextlib
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.lowering import constructors, forms, memories, subscripts
from slangad.compiler.frontends.lowering.constants import constant, static_number
from slangad.compiler.frontends.lowering.conversions import coerce
from slangad.compiler.frontends.lowering.entities import (
    ArrayEntity,
    Entity,
    FormEntity,
    FunctionEntity,
    GenericEntity,
    IntrinsicEntity,
    NamespaceEntity,
    RefusedEntity,
    TypeEntity,
    ValueEntity,
)
from slangad.compiler.frontends.lowering.intrinsics import call_intrinsic
from slangad.compiler.frontends.reading.problems import Rejected, did_you_mean
from slangad.compiler.frontends.reading.signatures import MISSING, CallSignature, Parameter
from slangad.compiler.ir import types
from slangad.compiler.ir.nodes import Call, Expr
from slangad.compiler.lang.decorators.struct import CALL
from slangad.compiler.lang.errors import ArgumentError, DescriptionError
from slangad.compiler.lang.intrinsics import INTRINSICS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.lang.intrinsics.model import IntrinsicRow


def call(ctx: Context, node: ast.Call) -> Expr:
    """Lower a call."""
    from slangad.compiler.frontends.lowering.expressions import entity_of

    if isinstance(node.func, ast.Call):
        return forms.derivative_call(ctx, node, node.func)
    if isinstance(node.func, ast.Subscript):
        if entity_of(ctx, node.func.value) is None:
            return value_call(ctx, node, ctx.expr(node.func))
        return constructors.construct(ctx, node, constructors.array_type(ctx, node.func))
    try:
        entity = entity_of(ctx, node.func)
    except Rejected:
        _check_arguments(ctx, node)
        raise
    if entity is None:
        return method_call(ctx, node)
    return entity_call(ctx, node, entity)


def _check_arguments(ctx: Context, node: ast.Call) -> None:
    """Report errors inside the arguments of a call that has no meaning itself."""
    from slangad.compiler.frontends.lowering.expressions import entity_of

    for argument in (*node.args, *(k.value for k in node.keywords)):
        with contextlib.suppress(Rejected):
            if not isinstance(argument, (ast.Name, ast.Attribute)) or entity_of(ctx, argument) is None:
                ctx.expr(argument)


def entity_call(ctx: Context, node: ast.Call, entity: Entity) -> Expr:
    """Lower a call of an entity."""
    match entity:
        case FunctionEntity(signature):
            return function_call(ctx, node, signature, ())
        case GenericEntity():
            return generic_call(ctx, node, entity)
        case IntrinsicEntity(row):
            return intrinsic_call(ctx, node, row)
        case TypeEntity(type_):
            return constructors.construct(ctx, node, type_)
        case FormEntity(name):
            return forms.form(ctx, node, name)
        case RefusedEntity():
            _check_arguments(ctx, node)
            raise ctx.refused(entity, ctx.span(node.func))
        case ArrayEntity():
            raise ctx.error("SA026", ctx.span(node.func), "Array needs its type", help="write Array[float, 4](…)")
        case ValueEntity() | NamespaceEntity():
            raise ctx.error("SA026", ctx.span(node.func), f"'{ast.unparse(node.func)}' can't be called")
        case _:
            assert_never(entity)


def callee_span(ctx: Context, node: ast.Call) -> Span:
    """Return the place of the called name: the last part of ``a.b.f``."""
    if isinstance(node.func, ast.Attribute):
        return ctx.locations.after(node.func.value, len(node.func.attr))
    return ctx.span(node.func)


def method_call(ctx: Context, node: ast.Call) -> Expr:
    """Lower ``value.method(…)`` and ``Type.static_method(…)``."""
    from slangad.compiler.frontends.lowering.expressions import entity_of

    func = node.func
    if not isinstance(func, ast.Attribute):
        return value_call(ctx, node, ctx.expr(func))
    owner = entity_of(ctx, func.value)
    span = callee_span(ctx, node)
    if isinstance(owner, TypeEntity) and isinstance(owner.type, types.Struct):
        signature = find_method(ctx, owner.type, func.attr, span)
        if not signature.static:
            raise ctx.error(
                "SA026", span, f"'{func.attr}' needs an object", help=f"call it on a {types.show(owner.type)}"
            )
        return function_call(ctx, node, signature, ())
    if owner is not None:
        raise ctx.error("SA026", span, f"'{func.attr}' can't be called here")
    source = memories.memory(ctx, func.value)
    if source is not None:
        return memories.method(ctx, node, func, source)
    value = ctx.expr(func.value)
    if not isinstance(value.type, types.Struct):
        raise ctx.error(
            "SA011",
            span,
            f"{types.show(types.strengthen(value.type))} has no method '{func.attr}'",
            help=f"call sa.{func.attr}(…)" if func.attr in INTRINSICS else "",
        )
    if any(field.name == func.attr for field in value.type.fields):
        return value_call(ctx, node, subscripts.member(ctx, func, value))
    signature = find_method(ctx, value.type, func.attr, span)
    return function_call(ctx, node, signature, () if signature.static else (value,))


def value_call(ctx: Context, node: ast.Call, value: Expr) -> Expr:
    """Lower ``value(…)``: the method ``__call__`` of a struct."""
    entity = ctx.scope.method(value.type, CALL) if isinstance(value.type, types.Struct) else None
    if isinstance(entity, FunctionEntity):
        shown = replace(entity.signature, name=ast.unparse(node.func))  # errors say ``net``, not the name of the method
        return function_call(ctx, node, shown, (value,))
    span = ctx.span(node.func)
    if isinstance(entity, RefusedEntity):
        raise ctx.refused(entity, span)
    kind = types.show(types.strengthen(value.type))
    help_ = f"give {kind} a method {CALL}" if isinstance(value.type, types.Struct) else ""
    raise ctx.error("SA026", span, f"'{ast.unparse(node.func)}' is a value and can't be called", label=kind, help=help_)


def find_method(ctx: Context, struct: types.Struct, name: str, span: Span) -> CallSignature:
    """Return a method by name.

    Raises:
        Rejected: when the struct has none of that name.
    """
    entity = ctx.scope.method(struct, name)
    if isinstance(entity, FunctionEntity):
        return entity.signature
    if isinstance(entity, RefusedEntity):
        raise ctx.refused(entity, span)
    fields, is_called = [field.name for field in struct.fields], ctx.scope.method(struct, CALL) is not None
    raise ctx.error(
        "SA011",
        span,
        f"'{struct.name}' has no method '{name}'",
        label="no such method",
        help=did_you_mean(name, fields)
        or (f"it has {', '.join(fields)}, and is called itself: net(x)" if is_called else ""),
    )


def function_call(
    ctx: Context,
    node: ast.Call,
    signature: CallSignature,
    first: tuple[Expr, ...],
    lowered: Mapping[int, Expr] = MappingProxyType({}),
) -> Expr:
    """Return a call of a described function.

    Args:
        ctx: The body.
        node: The call.
        signature: The function.
        first: The object of a method.
        lowered: Arguments that are lowered already, by the identity of their node.
    """
    args = bind_arguments(ctx, node, signature.name, signature.params, node.args, node.keywords, lowered)
    ctx.calls.setdefault(signature.key, callee_span(ctx, node))
    return Call(signature.key, (*first, *args), signature.result, ctx.span(node))


def generic_call(ctx: Context, node: ast.Call, entity: GenericEntity) -> Expr:
    """Lower a call of a generic function: the types of its arguments choose the function."""
    keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
    if len(keywords) != len(node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        raise ctx.error("SA015", callee_span(ctx, node), "'*' and '**' arguments are not supported")
    nodes = [*node.args, *keywords.values()]
    lowered = {id(n): value for n, value in zip(nodes, ctx.exprs(nodes), strict=True)}
    types_of = [lowered[id(n)].type for n in node.args]
    try:
        made = entity.instance(types_of, {name: lowered[id(n)].type for name, n in keywords.items()})
    except ArgumentError as error:
        at = error.argument
        wrong = next((n for i, n in enumerate(node.args) if i == at.position), keywords.get(at.name, node))
        raise ctx.error("SA014", ctx.span(wrong), error.message, help=error.help) from None
    except DescriptionError as error:
        raise ctx.error("SA015", callee_span(ctx, node), error.message, help=error.help) from None
    if isinstance(made, RefusedEntity):
        raise ctx.refused(made, ctx.span(node.func))
    by_name = dict(zip((p.name for p in made.signature.params), node.args, strict=False)) | keywords
    for name, bounds in entity.bounds.items():
        given = by_name.get(name)
        value = None if given is None else static_number(ctx, lowered[id(given)])
        if given is not None and value is not None and not bounds.contain(value):
            raise ctx.error("SA014", ctx.span(given), f"{name} of {entity.name} is {value:g}", help=str(bounds))
    return function_call(ctx, node, made.signature, (), lowered)


def bind_arguments(
    ctx: Context,
    node: ast.Call,
    name: str,
    params: Sequence[Parameter],
    positional: Sequence[ast.expr],
    keywords: Sequence[ast.keyword],
    lowered: Mapping[int, Expr] = MappingProxyType({}),
) -> tuple[Expr, ...]:
    """Return arguments in parameter order with defaults, each converted to its parameter's type.

    Raises:
        Rejected: after all their errors were reported.
    """
    arguments = match_arguments(ctx, node, name, params, positional, keywords)
    bound: list[Expr] = []
    failed: Rejected | None = None
    for param in params:
        try:
            bound.append(_argument(ctx, node, name, param, arguments.get(param.name), lowered))
        except Rejected as rejected:  # noqa: PERF203  (one wrong argument must not hide another)
            failed = rejected
    if failed is not None:
        raise failed
    return tuple(bound)


def match_arguments(
    ctx: Context,
    node: ast.Call,
    name: str,
    params: Sequence[Parameter],
    positional: Sequence[ast.expr],
    keywords: Sequence[ast.keyword],
) -> dict[str, ast.expr]:
    """Return the argument of each parameter; parameters with a default may have none."""
    if any(isinstance(a, ast.Starred) for a in positional) or any(k.arg is None for k in keywords):
        raise ctx.error("SA015", callee_span(ctx, node), "'*' and '**' arguments are not supported")
    by_position = [p for p in params if p.passed != "keyword"]
    if len(positional) > len(by_position):
        raise ctx.error(
            "SA015",
            callee_span(ctx, node),
            f"{name} takes {_count(len(by_position))}, not {len(positional)}",
            help=usage(name, params),
        )
    by_name = {p.name: a for p, a in zip(by_position, positional, strict=False)}
    for keyword in keywords:
        _keyword(ctx, name, params, by_name, keyword)
    missing = [p.name for p in params if p.name not in by_name and p.default is MISSING]
    if missing:
        raise ctx.error(
            "SA015",
            callee_span(ctx, node),
            f"{name} needs {', '.join(missing)}",
            label="missing argument",
            help=usage(name, params),
        )
    return by_name


def _keyword(
    ctx: Context, name: str, params: Sequence[Parameter], by_name: dict[str, ast.expr], keyword: ast.keyword
) -> None:
    arg = keyword.arg or ""
    whole = ctx.span(keyword)
    span = Span(whole.file, whole.line, whole.column, whole.line, whole.column + len(arg))
    if any(p.name == arg and p.passed == "positional" for p in params):
        raise ctx.error("SA015", span, f"'{arg}' of {name} can't be given by name", help="give it by position")
    if arg not in {p.name for p in params}:
        raise ctx.error(
            "SA015",
            span,
            f"{name} has no parameter '{arg}'",
            help=did_you_mean(arg, [p.name for p in params]) or usage(name, params),
        )
    if arg in by_name:
        raise ctx.error("SA015", span, f"'{arg}' is given twice")
    by_name[arg] = keyword.value


def usage(name: str, params: Sequence[Parameter]) -> str:
    """Return ``f(x: float, n: int)``."""
    return f"{name}({', '.join(f'{p.name}: {types.show(p.type)}' for p in params)})"


def _count(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _argument(
    ctx: Context,
    node: ast.Call,
    name: str,
    param: Parameter,
    node_given: ast.expr | None,
    lowered: Mapping[int, Expr],
) -> Expr:
    if node_given is None:
        value = constant(ctx, ValueEntity(param.default), callee_span(ctx, node))
        return coerce(ctx, value, param.type, callee_span(ctx, node), what=f"the default of '{param.name}'")
    if isinstance(param.type, (types.Tensor, types.Texture)):
        return memories.argument(ctx, name, param, node_given)
    value = lowered.get(id(node_given)) or ctx.expr(node_given, param.type)
    return coerce(ctx, value, param.type, ctx.span(node_given), what=f"argument '{param.name}' of {name}", code="SA014")


def intrinsic_call(ctx: Context, node: ast.Call, row: IntrinsicRow) -> Expr:
    """Lower a call of an intrinsic; keywords are allowed."""
    nodes = _ordered(ctx, node, row)
    if row.name == "pow" and len(nodes) == 2:
        from slangad.compiler.frontends.lowering.operators import power

        base, exponent = ctx.exprs(nodes)
        return power(ctx, node, base, exponent, nodes[1])
    args = ctx.exprs(nodes)
    return call_intrinsic(ctx, row.name, args, callee_span(ctx, node), [ctx.span(n) for n in nodes])


def _ordered(ctx: Context, node: ast.Call, row: IntrinsicRow) -> list[ast.expr]:
    if not node.keywords:
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise ctx.error("SA015", callee_span(ctx, node), "'*' arguments are not supported")
        return list(node.args)
    params: list[types.Type | str] = [*row.params]
    arguments: dict[str, ast.expr] = dict(zip(row.params, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in params or keyword.arg in arguments:
            raise ctx.error(
                "SA015",
                callee_span(ctx, node),
                f"{row.name} does not take '{keyword.arg}' here",
                help=f"{row.name}({', '.join(row.params)})",
            )
        arguments[str(keyword.arg)] = keyword.value
    return [arguments[p] for p in row.params if p in arguments]
