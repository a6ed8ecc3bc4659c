"""Store whole values where Slang miscompiles stores into their parts.

After a branch or loop, Slang 2026.12 confuses two locals of one type if parts of one were stored. Primals and tangents
in forward mode and gradients in reverse mode are silently wrong (docs/slang-notes.md). It also takes values for
tangents if the first store changes a part of a literal. Whole stores are right:

    v.x = e;        ->    v = float2(e, v.y);
    m[0][1] = e;    ->    m = float2x2(float2(m[0].x, e), m[1]);
    s.v.x = e;      ->    s = S(float2(e, s.v.y), s.k);
    a[i] = e;       ->    a = with(a, i, e);        also where branches or loops store elements of several arrays

Arrays of numbers are split, but not where a store outside of loops has a run-time index. There it is enough that the
literal is no literal to Slang: ``a = no_diff({})``. If a branch stores the literal, entries are stored as above.

Functions without branches and loops keep the shorter form. So do structs, matrices and arrays that do not start as
literals, if the function has no other local of the same type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.walk import blocks, body_exprs, map_blocks, map_functions, root, walk, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterator

Block = tuple[ir.Stmt, ...]
Step = ir.Member | ir.Swizzle | ir.Index


def store_whole_values(module: ir.Module) -> ir.Module:
    """Rewrite stores into parts of locals in differentiated functions that branch or loop."""
    return map_functions(module, _function)


def _function(function: ir.Function) -> ir.Function:
    body = function.body
    if not isinstance(body, tuple) or not is_differentiated(function) or not _forks(body):
        return function
    names = frozenset(_confused(body)) | frozenset(_several_arrays(body))
    apart = frozenset(_stored_outside_loops(body)) - names
    inside = (s for stmt in body for block in blocks(stmt) for s in walk_stmts(block))
    again = (s.target.name for s in inside if isinstance(s, ir.Assign) and isinstance(s.target, ir.Var) and _empty(s))
    names |= apart & frozenset(again)
    body = tuple(_detached(stmt, apart) for stmt in body)
    if not names:
        return replace(function, body=body)
    return replace(function, body=_block(body, names, fresh_locals(function, body)))


def _detached(stmt: ir.Stmt, names: frozenset[str]) -> ir.Stmt:
    """Return a statement with ``no_diff`` at literals that become arrays of numbers."""
    match stmt:
        case ir.Assign(target=ir.Var(name), value=value) if name in names:
            return replace(stmt, value=ir.NoDiff(value, value.type, value.span)) if _empty(stmt) else stmt
        case _:
            return map_blocks(stmt, lambda block: tuple(_detached(s, names) for s in block))


def _empty(stmt: ir.Assign) -> bool:
    """Return True if a statement stores a literal."""
    return isinstance(stmt.value, ir.Construct) and all(
        isinstance(e, (ir.Construct, ir.Const)) for e in walk(stmt.value)
    )


def _stored_outside_loops(body: Block) -> Iterator[str]:
    """Yield arrays of numbers with gradient, of which an entry at a run-time index is stored outside of loops."""
    for stmt in body:
        match stmt:
            case ir.Assign(target=ir.Index() as target):
                owner = root(target)
                part = target.type
                if owner is not None and types.carries_gradient(part) and not isinstance(target.index, ir.Const):
                    yield owner.name
            case ir.If():
                for block in blocks(stmt):
                    yield from _stored_outside_loops(block)
            case _:
                pass


def fresh_locals(function: ir.Function, body: Block) -> Fresh:
    """Return a maker of names for new locals of a function."""
    taken = {p.name for p in function.params} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
    return Fresh(taken | {s.variable for s in walk_stmts(body) if isinstance(s, ir.For)})


def _forks(body: Block) -> bool:
    forks = any(isinstance(s, (ir.If, ir.For, ir.While)) for s in walk_stmts(body))
    return forks or any(isinstance(e, ir.Ternary) for e in body_exprs(body))


# --- which locals ----------------------------------------------------------------------------------------------------


def _confused(body: Block) -> Iterator[str]:
    """Return locals with stored parts that Slang may confuse with other locals, or whose values with tangents."""
    parts = {owner.name: owner.type for owner in _partly_stored(body)}
    literal = _start_as_literals(body, frozenset(parts))
    branches = any(isinstance(s, (ir.If, ir.For, ir.While)) for s in walk_stmts(body))
    for name, type_ in parts.items():
        alone = not (branches and isinstance(type_, types.Vector)) and not _meets(body, type_, name)
        if types.carries_gradient(type_) and (name in literal or not alone):
            yield name


def _several_arrays(body: Block) -> Iterator[str]:
    """Return arrays of one type with gradient of which branches or loops store elements, if there are several."""
    nested = tuple(s for stmt in body for block in blocks(stmt) for s in walk_stmts(block))
    stored = {o.name: o.type for o in _partly_stored(nested) if isinstance(o.type, types.Array)}
    everywhere = {o.name: o.type for o in _partly_stored(body)}
    for name, type_ in everywhere.items():
        others = [other for other, its in stored.items() if its == type_ and other != name]
        if others and isinstance(type_, types.Array) and types.carries_gradient(type_):
            yield name


def _partly_stored(body: Block, *, deep: bool = False) -> Iterator[ir.Var]:
    """Yield locals that are stored in part, once for each store; with ``deep``, in parts of elements of arrays."""
    for stmt in walk_stmts(body):
        owner = root(stmt.target) if isinstance(stmt, ir.Assign) else None
        if owner is None or not isinstance(stmt, ir.Assign) or isinstance(stmt.target, ir.Var):
            continue
        if not deep or not isinstance(stmt.target, ir.Index) or not isinstance(stmt.target.value, ir.Var):
            yield owner


def _meets(body: Block, type_: types.Type, name: str) -> bool:
    """Return True if another local of the type has several values after a branch or loop."""
    nested = [s for stmt in body for block in blocks(stmt) for s in walk_stmts(block)]
    parts = [o.type for o in _partly_stored(body, deep=True)]
    whole_only = isinstance(type_, types.Array) and type_ not in parts
    stores = [
        s.target for s in nested if isinstance(s, ir.Assign) and not (whole_only and not isinstance(s.target, ir.Var))
    ]
    others = (root(target) for target in stores)
    return (
        any(other is not None and other.name != name and other.type == type_ for other in others)
        or any(isinstance(s, ir.Return) and s.value is not None and s.value.type == type_ for s in nested)
        or any(isinstance(e, ir.Ternary) and e.type == type_ for e in body_exprs(body))
    )


def _start_as_literals(body: Block, names: frozenset[str]) -> frozenset[str]:
    """Return those of the locals, of a type that Slang folds, that are literals before a part of them is stored."""
    stores = [s for s in walk_stmts(body) if isinstance(s, ir.Assign) and isinstance(s.target, ir.Var)]
    literal = {s.target.name for s in stores if isinstance(s.target, ir.Var) and _is_literal(s.value)}
    copies = {(s.target.name, source) for s in stores if isinstance(s.target, ir.Var) for source in _sources(s.value)}
    while True:
        more = {target for target, source in copies if source in literal} - literal
        if not more:
            return names & literal
        literal |= more


def _sources(value: ir.Expr) -> tuple[str, ...]:
    match value:
        case ir.Var(name=name):
            return (name,)
        case ir.Ternary(then=then, other=other):
            return (*_sources(then), *_sources(other))
        case _:
            return ()


def _is_literal(value: ir.Expr) -> bool:
    """Return True if Slang keeps it as one literal. It splits structs and arrays of numbers."""
    match value:
        case ir.Ternary(then=then, other=other):
            return _is_literal(then) or _is_literal(other)
        case _:
            type_ = value.type
    while isinstance(type_, types.Array):
        type_ = type_.element
    unknown = (ir.Var, ir.Call, ir.BackwardCall, ir.ForwardCall, ir.ConstantRef, ir.ThreadId, ir.ThreadCount)
    return isinstance(type_, (types.Vector, types.Matrix)) and not any(isinstance(e, unknown) for e in walk(value))


# --- the stores ------------------------------------------------------------------------------------------------------


def _block(body: Block, names: frozenset[str], fresh: Fresh) -> Block:
    done: list[ir.Stmt] = []
    for stmt in body:
        inner = map_blocks(stmt, lambda block: _block(block, names, fresh))
        partly = isinstance(inner, ir.Assign) and not isinstance(inner.target, ir.Var)
        owner = root(inner.target) if isinstance(inner, ir.Assign) and partly else None
        if isinstance(inner, ir.Assign) and owner is not None and owner.name in names:
            done.extend(store_whole(inner, owner, fresh))
        else:
            done.append(inner)
    return tuple(done)


def store_whole(stmt: ir.Assign, owner: ir.Expr, fresh: Fresh) -> Iterator[ir.Stmt]:
    """Yield one store of all of ``owner`` for a store of its part. Locals keep values that would be named twice."""
    steps: list[Step] = []
    place = stmt.target
    while place is not owner and isinstance(place, (ir.Member, ir.Swizzle, ir.Index)):
        if isinstance(place, ir.Index) and not isinstance(place.index, (ir.Const, ir.Var)):
            held = ir.Var(fresh.name("at"), place.index.type, place.index.span)
            yield ir.Assign(held, place.index, stmt.span)
            place = replace(place, index=held)
        steps.append(place)
        place = place.value
    value = stmt.value
    several = isinstance(steps[0], ir.Swizzle) and len(steps[0].components) > 1
    if several and not isinstance(value, (ir.Var, ir.Const, ir.ConstantRef)):
        local = ir.Var(fresh.name("stored"), value.type, value.span)
        yield ir.Assign(local, value, stmt.span)
        value = local
    yield ir.Assign(owner, _rebuilt(owner, steps[::-1], value), stmt.span)


def _rebuilt(old: ir.Expr, steps: list[Step], value: ir.Expr) -> ir.Expr:
    """Return ``old`` with ``value`` at the end of the steps."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    match step:
        case ir.Member(name=name, type=type_) if isinstance(old.type, types.Struct):
            fields = [ir.Member(old, f.name, f.type, old.span) for f in old.type.fields]
            kept = [_rebuilt(f, rest, value) if f.name == name else f for f in fields]
            return ir.Construct(tuple(kept), old.type, step.span)
        case ir.Swizzle(components=components) if isinstance(old.type, types.Vector):
            return _with_components(old, old.type, components, value)
        case ir.Index(index=ir.Const(value=at)) if isinstance(old.type, types.Vector):
            return _with_components(old, old.type, "xyzw"[int(at)], value)
        case ir.Index(index=ir.Const(value=at)) if isinstance(old.type, types.Matrix):
            row = types.Vector(old.type.element, old.type.columns)
            rows = [ir.Index(old, ir.Const(i, step.index.type), row, old.span) for i in range(old.type.rows)]
            kept = [_rebuilt(r, rest, value) if i == at else r for i, r in enumerate(rows)]
            return ir.Construct(tuple(kept), old.type, step.span)
        case ir.Index(index=index, type=type_):
            entry = ir.Index(old, index, type_, step.span)
            return ir.Intrinsic("with", (old, index, _rebuilt(entry, rest, value)), old.type, step.span)
        case _:
            raise AssertionError(step)


def _with_components(old: ir.Expr, type_: types.Vector, components: str, value: ir.Expr) -> ir.Expr:
    new = {c: value if len(components) == 1 else _component(value, i) for i, c in enumerate(components)}
    parts = [new.get(c) or _component(old, i) for i, c in enumerate("xyzw"[: type_.size])]
    return ir.Construct(tuple(parts), type_, value.span)


def _component(value: ir.Expr, i: int) -> ir.Expr:
    assert isinstance(value.type, types.Vector)  # noqa: S101  (only vectors have components)
    if isinstance(value, ir.Construct) and len(value.args) == value.type.size:
        return value.args[i]
    return ir.Swizzle(value, "xyzw"[i], value.type.element, value.span)
