"""Assignments to names, whose types join over the body, and to parts of values, which must not be shared."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering import memories, operators
from slangad.compiler.frontends.lowering.aliases import ANY, CONSTANT, Path
from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.frontends.lowering.conversions import coerce, fits, retype, strong
from slangad.compiler.frontends.lowering.intervals import interval_of
from slangad.compiler.frontends.reading.problems import Rejected
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.walk import root, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context


def assign_statement(ctx: Context, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> Sequence[ir.Stmt]:
    """Lower ``a = b = x``, ``a, b = b, a``, ``a += x``, ``a: float = x``."""
    match node:
        case ast.AugAssign(target=target, op=op, value=value):
            return _augmented(ctx, node, target, op, value)
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            return _annotated(ctx, node, target, annotation, value)
        case ast.Assign(targets=[single], value=value):
            return _assign(ctx, single, value)
        case ast.Assign(targets=targets, value=value):
            return _chained(ctx, targets, value)


def _chained(ctx: Context, targets: list[ast.expr], value: ast.expr) -> Sequence[ir.Stmt]:
    """Lower ``a = b = x``: the value is computed once, then stored from left to right."""
    lowered, span = ctx.expr(value), ctx.span(value)
    first, *rest = targets
    done: list[ir.Stmt] = []
    if isinstance(first, ast.Name) and not any(_names_in(t) & {first.id} for t in rest):
        done.extend(store(ctx, first, lowered, span))
        if not isinstance(lowered, ir.Const):
            lowered = ctx.expr(_as_load(first))
        targets = rest
    elif not isinstance(lowered, ir.Const):
        stmt, lowered = hold(ctx, lowered, "value", span)
        done.append(stmt)
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            done.extend(unpack(ctx, target, lowered, value))
        else:
            done.extend(store(ctx, target, lowered, span))
    return done


def _names_in(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _assign(ctx: Context, target: ast.expr, value: ast.expr) -> Sequence[ir.Stmt]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return _unpack(ctx, target, value)
    if isinstance(value, ast.Call) and (declared := memories.declare_shared(ctx, target, value)) is not None:
        return [declared]
    return store(ctx, target, ctx.expr(value), ctx.span(value))


def _annotated(
    ctx: Context, node: ast.AnnAssign, target: ast.expr, annotation: ast.expr, value: ast.expr | None
) -> Sequence[ir.Stmt]:
    type_ = ctx.annotation(annotation)
    if not isinstance(target, ast.Name):
        raise ctx.error("SA034", ctx.span(target), "only a name can be annotated", help="omit the annotation")
    known = ctx.params.get(target.id)
    if known is not None and known != type_:
        raise ctx.error("SA020", ctx.span(annotation), f"'{target.id}' is {types.show(known)}")
    if known is None:
        ctx.inferred[target.id] = _joined(ctx, target.id, type_, ctx.span(annotation))
        ctx.declared[target.id] = type_
    if value is None:
        return []
    lowered = coerce(ctx, ctx.expr(value, type_), type_, ctx.span(value), what=f"'{target.id}'")
    return store(ctx, target, lowered, ctx.span(node.target))


def _augmented(
    ctx: Context, node: ast.AugAssign, target: ast.expr, op: ast.operator, value: ast.expr
) -> Sequence[ir.Stmt]:
    if isinstance(target, ast.Subscript) and (output := memories.output(ctx, target.value)) is not None:
        return [_addition(ctx, node, target, output, op, value)]
    reading = _as_load(target)
    current, operand = ctx.exprs([reading, value])
    result = operators.apply(ctx, node, op, current, operand, value)
    if isinstance(target, ast.Name):
        return store(ctx, target, result, ctx.span(node))
    return store(ctx, target, coerce(ctx, result, current.type, ctx.span(value), what="the result"), ctx.span(node))


def _addition(
    ctx: Context, node: ast.AugAssign, target: ast.Subscript, output: ir.Var, op: ast.operator, value: ast.expr
) -> ir.Stmt:
    """Lower ``out[i] += x`` and ``out[i] -= x`` of an OutTensor, to which other threads may add as well."""
    place = memories.target(ctx, target, output)
    if not isinstance(op, (ast.Add, ast.Sub)):
        raise memories.not_read(ctx, node, output)
    total = operators.apply(ctx, node, ast.Add(), place, ctx.expr(value), value)
    total = coerce(ctx, total, place.type, ctx.span(value), what="the result")
    assert isinstance(total, ir.Binary)  # noqa: S101  (a sum of the element's type)
    added = total.right
    if isinstance(op, ast.Sub):
        added = operators.negative(added)
    return ir.Assign(place, added, ctx.span(node), adds=True)


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


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: ast.expr) -> Sequence[ir.Stmt]:
    """Lower ``a, b = …``: all values are computed before any is stored."""
    return unpack(ctx, target, ctx.expr(value), value)


def unpack(ctx: Context, target: ast.Tuple | ast.List, value: ir.Expr, node: ast.expr) -> Sequence[ir.Stmt]:
    """Store the parts of a value; ``node`` is the value's node."""
    before, pairs = _pairs(ctx, target, value, node)
    done = list(before)
    written: set[str] = set()
    failed: Rejected | None = None
    taken: list[tuple[ast.expr, ir.Expr, Span]] = []
    for part_target, part, span in pairs:
        if ctx.unread and isinstance(part_target, ast.Name) and part_target.id == "_" and root(part) is not None:
            continue  # so ``_`` takes values of any types
        if any(isinstance(e, ir.Var) and e.name in written for e in walk(part)):
            stmt, part = hold(ctx, part, "old", span)  # noqa: PLW2901  (the same part, kept)
            done.append(stmt)
        taken.append((part_target, part, span))
        written |= _names_in(part_target)
    for part_target, part, span in taken:
        try:
            done.extend(store(ctx, part_target, part, span))
        except Rejected as rejected:  # noqa: PERF203  (one wrong target must not hide another)
            failed = rejected
    if failed is not None:
        raise failed
    return done


def _pairs(
    ctx: Context, target: ast.Tuple | ast.List, value: ir.Expr, node: ast.expr
) -> tuple[list[ir.Stmt], list[tuple[ast.expr, ir.Expr, Span]]]:
    """Return targets with their parts, nested targets flattened, and the statements that compute the parts once."""
    parts, before = _parts(ctx, target, value, node)
    if len(parts) != len(target.elts):
        message = f"{len(target.elts)} names for {len(parts)} values"
        raise ctx.error("SA034", ctx.span(target), message, label=f"{len(parts)} values")
    nodes = node.elts if isinstance(node, ast.Tuple) and len(node.elts) == len(parts) else [node] * len(parts)
    pairs: list[tuple[ast.expr, ir.Expr, Span]] = []
    for part_target, part, part_node in zip(target.elts, parts, nodes, strict=True):
        if isinstance(part_target, (ast.Tuple, ast.List)):
            inner_before, inner = _pairs(ctx, part_target, part, part_node)
            before += inner_before
            pairs += inner
        else:
            pairs.append((part_target, part, ctx.span(part_node)))
    return before, pairs


def _parts(ctx: Context, target: ast.expr, value: ir.Expr, node: ast.expr) -> tuple[list[ir.Expr], list[ir.Stmt]]:
    if isinstance(value, ir.Construct) and isinstance(value.type, types.Tuple):
        return list(value.args), []
    if not isinstance(value.type, (types.Tuple, types.Vector, types.Array)):
        shown = types.show(types.strengthen(value.type))
        raise ctx.error("SA034", ctx.span(node), f"{shown} can't be unpacked", help=_instead(target, value, node))
    before: list[ir.Stmt] = []
    if not isinstance(value, ir.Var) or value.name in _names_in(target):
        stmt, value = hold(ctx, value, "results" if isinstance(value.type, types.Tuple) else "parts", value.span)
        before.append(stmt)
    if isinstance(value.type, types.Tuple):
        return [ir.Member(value, f"item{i}", t, value.span) for i, t in enumerate(value.type.elements)], before
    assert isinstance(value.type, (types.Vector, types.Array))  # noqa: S101  (checked above)
    element = value.type.element
    if isinstance(value.type, types.Array):
        indices = (ir.Const(i, types.INT, value.span) for i in range(value.type.size))
        return [ir.Index(value, index, element, value.span) for index in indices], before
    return [ir.Swizzle(value, c, element, value.span) for c in "xyzw"[: value.type.size]], before


def _instead(target: ast.expr, value: ir.Expr, node: ast.expr) -> str:
    """Return what works where the parts of a value can't be unpacked."""
    targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    whole = ast.unparse(node)
    called = whole.partition("(")[0]
    match value.type:
        case _ if isinstance(value, (ir.ThreadId, ir.ThreadCount)):
            parts = [f"{called}({axis})" for axis in range(len(targets))]
        case types.DiffPair():
            parts = [f"{whole}.p", f"{whole}.d"]
        case types.Struct(fields=fields):
            parts = [f"{whole}.{field.name}" for field in fields]
        case types.Matrix():
            parts = [f"{whole}[{row}]" for row in range(len(targets))]
        case _:
            return "write one value for each name"
    return f"{', '.join(map(ast.unparse, targets))} = {', '.join(parts)}"


def hold(ctx: Context, value: ir.Expr, wish: str, span: Span) -> tuple[ir.Stmt, ir.Expr]:
    """Keep a value in a new local: the statement and the local."""
    value = strong(ctx, value)
    name = ctx.fresh(wish)
    _log_binding(ctx, name, value)
    return ir.Assign(ir.Var(name, value.type, span), value, span), ir.Var(name, value.type, span)


def store(ctx: Context, target: ast.expr, value: ir.Expr, span: Span) -> Sequence[ir.Stmt]:
    """Lower ``target = value``."""
    match target:
        case ast.Name(id=name):
            _log_binding(ctx, name, value)
            return [assign_name(ctx, name, value, span, ctx.span(target))]
        case ast.Attribute() | ast.Subscript():
            source = memories.memory(ctx, target.value) if isinstance(target, ast.Subscript) else None
            if isinstance(target, ast.Subscript) and source is not None:
                place: ir.Expr = memories.target(ctx, target, source)
            else:
                place = _place(ctx, target)
            value = coerce(ctx, value, place.type, span, what="the stored value")
            return [ir.Assign(place, value, ctx.span(target))]
        case ast.Tuple() | ast.List():
            return unpack(ctx, target, value, target)
        case _:
            help_ = "assign to a name, a field, a component or an entry"
            raise ctx.error("SA034", ctx.span(target), "this can't be assigned to", help=help_)


def _place(ctx: Context, target: ast.Attribute | ast.Subscript) -> ir.Expr:
    """Return an assignable part of a local."""
    memories.refuse_partial_store(ctx, target)
    place = ctx.expr(_as_load(target))
    span = ctx.span(target)
    owner = root(place)
    if owner is None:
        raise ctx.error(
            "SA034", span, "only parts of a local can be assigned", help="copy it to a local first: sa.copy(…)"
        )
    if owner.name == "self" and ctx.signature.owner is not None and not ctx.signature.static:
        raise ctx.error("SA035", span, "a method may not change 'self'", help="return a new value")
    if isinstance(owner.type, (types.DiffPair, types.Tuple)):
        raise ctx.error("SA034", span, f"parts of {types.show(owner.type)} can't be assigned", help="make a new one")
    for depth, swizzle in enumerate(_links(place)):
        if not isinstance(swizzle, ir.Swizzle):
            continue
        if len(set(swizzle.components)) != len(swizzle.components):
            raise ctx.error("SA034", span, f"'{swizzle.components}' names a component twice", help="name each once")
        if depth > 0:
            message = f"'{swizzle.components}' makes a new vector, so this would change nothing in Python"
            raise ctx.error("SA034", span, message, help="name the component itself: v.x = …")
    ctx.aliases.write(_source_name(ctx, owner.name), path_of(place), span)
    return place


def _source_name(ctx: Context, name: str) -> str:
    return next((source for source, shadow in ctx.shadows.items() if shadow == name), name)


def _links(place: ir.Expr) -> list[ir.Expr]:
    links: list[ir.Expr] = []
    while isinstance(place, (ir.Member, ir.Swizzle, ir.Index)):
        links.append(place)
        place = place.value
    return links


def path_of(place: ir.Expr) -> Path:
    """Return the steps from a name to a part of its value."""
    steps: list[str] = []
    while isinstance(place, (ir.Member, ir.Swizzle, ir.Index)):
        match place:
            case ir.Member(name=name):
                steps.append(f".{name}")
            case ir.Swizzle(components=components):
                steps.append(f".{components}")
            case ir.Index(index=index):
                static = static_int(index)
                steps.append(ANY if static is None else f"[{static}]")
        place = place.value
    return tuple(reversed(steps))


def _log_binding(ctx: Context, name: str, value: ir.Expr) -> None:
    ctx.aliases.bind(name, [(_source_name(ctx, other), path) for other, path in _shared(ctx, value)])


def _shared(ctx: Context, value: ir.Expr) -> Sequence[tuple[str, Path]]:
    """Return the names, with the parts of their values, that a binding of this expression shares in Python."""
    if not isinstance(value.type, (types.Struct, types.Array, types.Vector, types.Matrix)) or any(
        value is c for c in ctx.copies
    ):
        return []
    match value:
        case ir.Var(name=name):
            return [(name, ())]
        case ir.Ternary(then=then, other=other):
            return [*_shared(ctx, then), *_shared(ctx, other)]
        case ir.ConstantRef(key=key):
            return [(CONSTANT + key, ())]
        case ir.Member() | ir.Index():
            owner = root(value)
            return [(owner.name, path_of(value))] if owner is not None else []
        case _:
            return []


def assign_name(ctx: Context, name: str, value: ir.Expr, span: Span, target: Span | None = None) -> ir.Stmt:
    """Lower ``name = value``; the local's type joins all its assignments in the body."""
    target = span if target is None else target
    ctx.assigned |= {name}
    if name in ctx.steady and name not in ctx.params:
        values = interval_of(value, ctx.intervals)
        ctx.intervals |= {name: values} if values else {}
    declared = ctx.shared.get(name, ctx.params.get(name))
    if isinstance(declared, (types.Tensor, types.Texture)):
        raise ctx.error(
            "SA034", target, f"'{name}' is {types.show(declared)} in the whole function", help="use another name"
        )
    if isinstance(value.type, types.Tuple):
        value = strong(ctx, value)
    if name in ctx.declared:
        value = coerce(ctx, value, ctx.declared[name], span, what=f"'{name}'", code="SA020")
    if declared is not None:
        shadow = ir.Var(ctx.shadows.get(name, name), declared, target)
        return ir.Assign(shadow, coerce(ctx, value, declared, span, what=f"parameter '{name}'", code="SA020"), target)
    if isinstance(value.type, types.Void):
        raise ctx.error("SA020", span, "this has no value")
    type_ = _joined(ctx, name, value.type, span)
    ctx.inferred[name] = type_
    known = ctx.locals.get(name)
    if known is not None and fits(type_, known):
        type_ = known
    final = retype(ctx, value, type_) if isinstance(value.type, types.Weak) else _as(ctx, value, type_, span)
    return ir.Assign(ir.Var(name, type_, target), final, target)


def _as(ctx: Context, value: ir.Expr, type_: types.Type, span: Span) -> ir.Expr:
    return value if value.type == type_ else coerce(ctx, value, type_, span, what="the value")


def _joined(ctx: Context, name: str, type_: types.Type, span: Span) -> types.Type:
    known = ctx.inferred.get(name)
    if known is None or known == type_:
        return type_
    if types.is_scalar(known) and types.is_scalar(type_):
        joined = types.join_scalars(_scalar(known), _scalar(type_))
        if joined is not None:
            return joined
    raise ctx.error(
        "SA020",
        span,
        f"'{name}' is {types.show(types.strengthen(known))} elsewhere and {types.show(types.strengthen(type_))} here",
        label=types.show(types.strengthen(type_)),
        help="a local has one type in the whole function: use another name or convert",
    )


def _scalar(type_: types.Type) -> types.Scalar | types.Weak:
    if isinstance(type_, (types.Scalar, types.Weak)):
        return type_
    raise AssertionError(type_)
