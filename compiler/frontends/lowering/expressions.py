"""Expressions of a body: one function per kind of syntax. Start here to follow any expression."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering import calls, constants, memories, operators, subscripts, vocabulary
from slangad.compiler.frontends.lowering.entities import Entity, NamespaceEntity, RefusedEntity, ValueEntity
from slangad.compiler.frontends.reading.problems import Rejected, did_you_mean
from slangad.compiler.frontends.reading.wording import PYTHON
from slangad.compiler.ir.nodes import Const, Construct, Expr, Var
from slangad.compiler.ir.types import BOOL, WEAK_FLOAT, WEAK_INT, Tuple, Type
from slangad.compiler.lang.other_names import NAMES, module_name, other_name

if TYPE_CHECKING:
    from slangad.compiler.frontends.lowering.context import Context


_FEW: Final = 12
"""Names of a module that a help lists."""


def lower_expr(ctx: Context, node: ast.expr, expected: Type | None) -> Expr:  # noqa: C901  (one case per kind of syntax)
    """Lower one expression.

    Raises:
        Rejected: after the problem was reported.
    """
    match node:
        case ast.Constant():
            return literal(ctx, node)
        case ast.Name():
            return name(ctx, node)
        case ast.Attribute():
            return attribute(ctx, node)
        case ast.Subscript():
            return subscripts.subscript(ctx, node)
        case ast.Call():
            return calls.call(ctx, node)
        case ast.BinOp():
            return operators.binary(ctx, node)
        case ast.UnaryOp():
            return operators.unary(ctx, node)
        case ast.BoolOp():
            return operators.boolean(ctx, node)
        case ast.Compare():
            return operators.compare(ctx, node)
        case ast.IfExp():
            return operators.ternary(ctx, node, expected)
        case ast.Tuple():
            return make_tuple(ctx, node, expected)
        case _:
            raise ctx.error("SA004", ctx.span(node), "this expression is not supported")


def literal(ctx: Context, node: ast.Constant) -> Expr:
    """Lower a number or bool."""
    value, span = node.value, ctx.span(node)
    match value:
        case bool():
            return Const(value, BOOL, span)
        case int():
            return Const(value, WEAK_INT, span)
        case float():
            return Const(value, WEAK_FLOAT, span)
        case _:
            raise ctx.error("SA004", span, "only numbers, True and False can be written here")


def name(ctx: Context, node: ast.Name) -> Expr:
    """Lower a parameter, local or constant."""
    span = ctx.span(node)
    if node.id in ctx.names or node.id in ctx.params:
        return local(ctx, node)
    entity = resolve(ctx, node)
    if isinstance(entity, ValueEntity):
        return constants.constant(ctx, entity, span)
    if isinstance(entity, RefusedEntity):
        raise ctx.refused(entity, span)
    raise ctx.error("SA026", span, f"'{node.id}' is not a value", help="call it, or use one of its members")


def local(ctx: Context, node: ast.Name) -> Expr:
    """Lower a parameter or local; it must be set on every path that leads here."""
    span = ctx.span(node)
    source = memories.memory(ctx, node)
    if source is not None:
        raise memories.not_a_value(ctx, source)
    if node.id not in ctx.assigned and ctx.reachable:
        known = any(
            isinstance(t, object) for t in (ctx.inferred.get(node.id), ctx.locals.get(node.id)) if t is not None
        )
        if node.id in ctx.inferred and ctx.inferred[node.id] is None:
            raise Rejected(node.id)
        how = "has no value on some paths to this line" if known else "is used before it is set"
        raise ctx.error("SA019", span, f"'{node.id}' {how}", help=f"set '{node.id}' before the branch or loop")
    ctx.aliases.read(node.id)
    if node.id in ctx.names and node.id not in ctx.params:
        type_ = ctx.locals.get(node.id) or ctx.inferred.get(node.id)
        if type_ is None:
            raise Rejected(node.id)
        return Var(node.id, type_, span)
    return Var(ctx.shadows.get(node.id, node.id), ctx.params[node.id], span)


def resolve(ctx: Context, node: ast.Name) -> Entity:
    """Return the meaning of a free name.

    Raises:
        Rejected: when it is unknown; the nearest known name is suggested.
    """
    entity = ctx.scope.lookup(node.id)
    if entity is None:
        here = [*ctx.params, *sorted(set(ctx.names).difference(ctx.params))]
        raise ctx.error(
            "SA010",
            ctx.span(node),
            f"unknown name '{node.id}'",
            label="not defined",
            help=did_you_mean(node.id, [*ctx.scope.names(), *here])
            or _elsewhere(ctx, node.id)
            or f"here are: {', '.join(here)}",
        )
    return entity


def _elsewhere(ctx: Context, name: str) -> str:
    """Return what to write for a name that ``sa`` or another library has. YAML has no ``sa.``."""
    text = vocabulary.public_name(name)
    return text if ctx.problems.wording is PYTHON else text.replace("sa.", "")


def _all_of(ctx: Context, owner: NamespaceEntity) -> str:
    """Return the page with all names of ``sa`` or ``sa.nn``, or the names of another module if those are few."""
    if (module := module_name(owner.name)) in NAMES:
        return NAMES[module]
    names = [name for name in ctx.scope.attribute_names(owner) if not name.startswith("_")]
    return f"it has: {', '.join(names)}" if 0 < len(names) <= _FEW else ""


def entity_of(ctx: Context, node: ast.expr) -> Entity | None:
    """Return the meaning of ``name`` or ``module.name``; None if the expression is a value of the body itself."""
    match node:
        case ast.Name(id=identifier) if identifier not in ctx.names and identifier not in ctx.params:
            return resolve(ctx, node)
        case ast.Attribute(value=value, attr=attr):
            owner = entity_of(ctx, value)
            if not isinstance(owner, NamespaceEntity):
                return None
            entity = ctx.scope.attribute(owner, attr)
            if entity is None:
                raise ctx.error(
                    "SA010",
                    ctx.locations.after(value, len(attr)),
                    f"'{module_name(owner.name)}' has no '{attr}'",
                    label="not defined",
                    help=other_name(attr, module_name(owner.name))
                    or did_you_mean(attr, ctx.scope.attribute_names(owner))
                    or _all_of(ctx, owner),
                )
            return entity
        case _:
            return None


def attribute(ctx: Context, node: ast.Attribute) -> Expr:
    """Lower a field, swizzle or part of a pair, or a constant of a module."""
    entity = entity_of(ctx, node)
    span = ctx.locations.after(node.value, len(node.attr))
    if isinstance(entity, ValueEntity):
        value = constants.constant(ctx, entity, ctx.span(node))
        if isinstance(value, Const) and value.formula is None:
            return replace(value, formula=ast.unparse(node))
        return value
    if isinstance(entity, RefusedEntity):
        raise ctx.refused(entity, span)
    if entity is not None:
        raise ctx.error("SA026", span, f"'{node.attr}' is not a value", help="call it")
    source = memories.memory(ctx, node.value)
    if source is not None:
        return memories.member(ctx, node, source)
    return subscripts.member(ctx, node, ctx.expr(node.value))


def make_tuple(ctx: Context, node: ast.Tuple, expected: Type | None) -> Expr:
    """Lower ``a, b``: several results."""
    hints = expected.elements if isinstance(expected, Tuple) and len(expected.elements) == len(node.elts) else None
    parts = [
        ctx.expr(e, hints[i] if hints else None) if isinstance(e, ast.Tuple) else e for i, e in enumerate(node.elts)
    ]
    lowered = iter(ctx.exprs([p for p in parts if isinstance(p, ast.expr)]))
    args = tuple(next(lowered) if isinstance(p, ast.expr) else p for p in parts)
    return Construct(args, Tuple(tuple(a.type for a in args)), ctx.span(node))
