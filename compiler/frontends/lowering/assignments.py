"""Assignments: to names, whose types join over the body, and to parts of values, which must not be seen elsewhere."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering import operators
from slangad.compiler.frontends.lowering.aliases import CONSTANT
from slangad.compiler.frontends.lowering.conversions import coerce, fits, retype, strong
from slangad.compiler.frontends.problems import Rejected
from slangad.compiler.ir.nodes import (
    Assign,
    ConstantRef,
    Construct,
    Expr,
    Index,
    Member,
    Stmt,
    Swizzle,
    Ternary,
    Var,
)
from slangad.compiler.ir.types import (
    Array,
    DiffPair,
    Matrix,
    Scalar,
    Struct,
    Tuple,
    Type,
    Vector,
    Void,
    Weak,
    is_scalar,
    join_scalars,
    show,
    strengthen,
)
from slangad.compiler.ir.walk import root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.spans import Span


def assign_statement(ctx: Context, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> Sequence[Stmt]:
    """``a = b = x``, ``a, b = b, a``, ``a += x``, ``a: float = x``."""
    match node:
        case ast.AugAssign(target=target, op=op, value=value):
            return _augmented(ctx, node, target, op, value)
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            return _annotated(ctx, node, target, annotation, value)
        case ast.Assign(targets=[single], value=value):
            return _assign(ctx, single, value)
        case ast.Assign(targets=targets, value=value):
            first, *rest = _chain_order(targets)
            done = list(_assign(ctx, first, value))
            for other in rest:
                done.extend(store(ctx, other, _reread(ctx, first), ctx.span(first)))
            return done


def _chain_order(targets: list[ast.expr]) -> list[ast.expr]:
    names = [t for t in targets if isinstance(t, ast.Name)]
    return [*names[:1], *(t for t in targets if t not in names[:1])]


def _reread(ctx: Context, target: ast.expr) -> Expr:
    if isinstance(target, ast.Name):
        return ctx.expr(ast.copy_location(ast.Name(target.id, ast.Load()), target))
    raise ctx.error("SA034", ctx.span(target), "a chained assignment needs a name among its targets")


def _assign(ctx: Context, target: ast.expr, value: ast.expr) -> Sequence[Stmt]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return _unpack(ctx, target, value)
    return store(ctx, target, ctx.expr(value), ctx.span(value))


def _annotated(
    ctx: Context, node: ast.AnnAssign, target: ast.expr, annotation: ast.expr, value: ast.expr | None
) -> Sequence[Stmt]:
    type_ = ctx.annotation(annotation)
    if not isinstance(target, ast.Name):
        raise ctx.error("SA034", ctx.span(target), "only a name can be annotated")
    known = ctx.params.get(target.id)
    if known is not None and known != type_:
        raise ctx.error("SA020", ctx.span(annotation), f"'{target.id}' is {show(known)}")
    if known is None:
        ctx.found[target.id] = _joined(ctx, target.id, type_, ctx.span(annotation))
        ctx.declared[target.id] = type_
    if value is None:
        return []
    lowered = coerce(ctx, ctx.expr(value, type_), type_, ctx.span(value), what=f"'{target.id}'")
    return store(ctx, target, lowered, ctx.span(node.target))


def _augmented(
    ctx: Context, node: ast.AugAssign, target: ast.expr, op: ast.operator, value: ast.expr
) -> Sequence[Stmt]:
    reading = _as_load(target)
    current, operand = ctx.exprs([reading, value])
    result = operators.apply(ctx, node, op, current, operand, value)
    if isinstance(target, ast.Name):
        return store(ctx, target, result, ctx.span(node))
    return store(ctx, target, coerce(ctx, result, current.type, ctx.span(value), what="the result"), ctx.span(node))


def _as_load(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            reading: ast.expr = ast.Name(name, ast.Load())
        case ast.Attribute(value=value, attr=attr):
            reading = ast.Attribute(value, attr, ast.Load())
        case ast.Subscript(value=value, slice=index):
            reading = ast.Subscript(value, index, ast.Load())
        case _:
            return target
    return ast.copy_location(reading, target)


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: ast.expr) -> Sequence[Stmt]:
    """``a, b = …``: all values are taken before any is stored."""
    lowered = ctx.expr(value)
    if any(isinstance(t, ast.Starred) for t in target.elts):
        raise ctx.error("SA034", ctx.span(target), "'*' targets are not supported")
    parts, before = _parts(ctx, lowered, value)
    if len(parts) != len(target.elts):
        raise ctx.error(
            "SA034", ctx.span(target), f"{len(target.elts)} names for {len(parts)} values", label=f"{len(parts)} values"
        )
    spans = [ctx.span(e) for e in value.elts] if isinstance(value, ast.Tuple) else [ctx.span(value)] * len(parts)
    done = list(before)
    if isinstance(lowered, Construct) and _interferes(target, parts):
        held = [hold(ctx, part, "old", span) for part, span in zip(parts, spans, strict=True)]
        done.extend(s for s, _ in held)
        parts = [v for _, v in held]
    failed: Rejected | None = None
    for name, part, span in zip(target.elts, parts, spans, strict=True):
        try:
            done.extend(store(ctx, name, part, span))
        except Rejected as rejected:  # noqa: PERF203  (one wrong target must not hide another)
            failed = rejected
    if failed is not None:
        raise failed
    return done


def _parts(ctx: Context, value: Expr, node: ast.expr) -> tuple[list[Expr], list[Stmt]]:
    match value.type:
        case Tuple(elements) if isinstance(value, Construct):
            return list(value.args), []
        case Tuple(elements):
            stmt, held = hold(ctx, value, "results", value.span)
            return [Member(held, f"item{i}", t, value.span) for i, t in enumerate(elements)], [stmt]
        case Vector(element, size):
            stmt, held = hold(ctx, value, "parts", value.span)
            return [Swizzle(held, "xyzw"[i], element, value.span) for i in range(size)], [stmt]
        case other:
            raise ctx.error("SA034", ctx.span(node), f"{show(strengthen(other))} can't be unpacked")


def _interferes(target: ast.Tuple | ast.List, parts: Sequence[Expr]) -> bool:
    """Whether storing one part would change what a later one reads."""
    from slangad.compiler.ir.walk import walk

    written: set[str] = set()
    for t, part in zip(target.elts, parts, strict=True):
        if any(isinstance(e, Var) and e.name in written for e in walk(part)):
            return True
        written |= {n.id for n in ast.walk(t) if isinstance(n, ast.Name)}
    return False


def hold(ctx: Context, value: Expr, wish: str, span: Span) -> tuple[Stmt, Expr]:
    """Keeps a value in a new local: the statement and the local."""
    value = strong(ctx, value)
    name = ctx.fresh(wish)
    return Assign(Var(name, value.type, span), value, span), Var(name, value.type, span)


def store(ctx: Context, target: ast.expr, value: Expr, span: Span) -> Sequence[Stmt]:
    """``target = value``."""
    match target:
        case ast.Name(id=name):
            _log_binding(ctx, name, value, ctx.span(target))
            return [assign_name(ctx, name, value, span, ctx.span(target))]
        case ast.Tuple() | ast.List():
            raise ctx.error("SA034", ctx.span(target), "nested targets are not supported", help="unpack in two steps")
        case ast.Attribute() | ast.Subscript():
            place = _place(ctx, target)
            value = coerce(ctx, value, place.type, span, what="the stored value")
            return [Assign(place, value, ctx.span(target))]
        case _:
            raise ctx.error("SA034", ctx.span(target), "this can't be assigned to")


def _place(ctx: Context, target: ast.Attribute | ast.Subscript) -> Expr:
    """An assignable part of a local."""
    place = ctx.expr(_as_load(target))
    span = ctx.span(target)
    owner = root(place)
    if owner is None:
        raise ctx.error(
            "SA034", span, "only parts of a local can be assigned", help="copy it to a local first: sa.copy(…)"
        )
    if owner.name == "self" and ctx.signature.owner is not None and not ctx.signature.static:
        raise ctx.error("SA035", span, "a method may not change 'self'", help="return a new value")
    if isinstance(owner.type, (DiffPair, Tuple)):
        raise ctx.error("SA034", span, f"parts of {show(owner.type)} can't be assigned", help="make a new one")
    swizzles = [e for e in _chain(place) if isinstance(e, Swizzle)]
    for swizzle in swizzles:
        if len(set(swizzle.components)) != len(swizzle.components):
            raise ctx.error("SA034", span, f"'{swizzle.components}' names a component twice")
    ctx.aliases.write(_source_name(ctx, owner.name), span)
    return place


def _source_name(ctx: Context, name: str) -> str:
    return next((source for source, shadow in ctx.shadows.items() if shadow == name), name)


def _chain(place: Expr) -> list[Expr]:
    links: list[Expr] = []
    while isinstance(place, (Member, Swizzle, Index)):
        links.append(place)
        place = place.value
    return links


def _log_binding(ctx: Context, name: str, value: Expr, span: Span) -> None:
    ctx.aliases.bind(name, tuple(_source_name(ctx, other) for other in _shared(value)), span)


def _shared(value: Expr) -> Sequence[str]:
    """The names whose values Python would share when this expression is bound."""
    if not isinstance(value.type, (Struct, Array, Vector, Matrix)):
        return []
    match value:
        case Var(name=name):
            return [name]
        case Ternary(then=then, other=other):
            return [*_shared(then), *_shared(other)]
        case ConstantRef(key=key):
            return [CONSTANT + key]
        case Member() | Index():
            owner = root(value)
            return [owner.name] if owner is not None else []
        case _:
            return []


def assign_name(ctx: Context, name: str, value: Expr, span: Span, target: Span | None = None) -> Stmt:
    """``name = value``; the local's type joins what is assigned to it over the whole body."""
    target = span if target is None else target
    ctx.assigned |= {name}
    declared = ctx.params.get(name)
    if name in ctx.declared:
        value = coerce(ctx, value, ctx.declared[name], span, what=f"'{name}'", code="SA020")
    if declared is not None:
        shadow = Var(ctx.shadows.get(name, name), declared, target)
        return Assign(shadow, coerce(ctx, value, declared, span, what=f"parameter '{name}'", code="SA020"), target)
    if isinstance(value.type, Void):
        raise ctx.error("SA020", span, "this has no value")
    type_ = _joined(ctx, name, value.type, span)
    ctx.found[name] = type_
    known = ctx.locals.get(name)
    if known is not None and fits(type_, known):
        type_ = known
    final = retype(ctx, value, type_) if isinstance(value.type, Weak) else _as(ctx, value, type_, span)
    return Assign(Var(name, type_, target), final, target)


def _as(ctx: Context, value: Expr, type_: Type, span: Span) -> Expr:
    return value if value.type == type_ else coerce(ctx, value, type_, span, what="the value")


def _joined(ctx: Context, name: str, type_: Type, span: Span) -> Type:
    known = ctx.found.get(name)
    if known is None or known == type_:
        return type_
    if is_scalar(known) and is_scalar(type_):
        joined = join_scalars(_scalar(known), _scalar(type_))
        if joined is not None:
            return joined
    raise ctx.error(
        "SA020",
        span,
        f"'{name}' is {show(strengthen(known))} elsewhere and {show(strengthen(type_))} here",
        label=show(strengthen(type_)),
        help="a local has one type in the whole function: use another name or convert",
    )


def _scalar(type_: Type) -> Scalar | Weak:
    if isinstance(type_, (Scalar, Weak)):
        return type_
    raise AssertionError(type_)
