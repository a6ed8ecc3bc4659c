"""Stores whole vectors where Slang's forward mode mistakes stores into their components.

Slang 2026.12 gives wrong primals and tangents in forward mode when a component of a vector local is stored and the
local is stored again in a branch or loop (seen on the CPU and as text of every target). Whole stores are right:

    v.x = e;      ->    v = float2(e, v.y);
    v[i] = e;     ->    v = float2(i == 0 ? e : v.x, i == 1 ? e : v.y);

Functions without branches and loops keep the shorter form, and so do components of structs' fields, array entries and
matrices, which are right as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.nodes import (
    Assign,
    Binary,
    Const,
    ConstantRef,
    Construct,
    For,
    If,
    Index,
    Swizzle,
    Ternary,
    Var,
    While,
)
from slangad.compiler.ir.types import BOOL, Vector, is_floating
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_functions, walk_stmts
from slangad.compiler.passes.build import Fresh
from slangad.compiler.passes.carrying import is_differentiated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.nodes import Expr, Function, Module, Stmt


def store_whole_vectors(module: Module) -> Module:
    """Rewrites stores into components of vector locals in differentiated functions that branch or loop."""
    return map_functions(module, _function)


def _function(function: Function) -> Function:
    body = function.body
    if not isinstance(body, tuple) or not is_differentiated(function):
        return function
    if not any(isinstance(s, (If, For, While)) for s in walk_stmts(body)):
        return function
    taken = {p.name for p in function.params} | {e.name for e in body_exprs(body) if isinstance(e, Var)}
    taken |= {s.variable for s in walk_stmts(body) if isinstance(s, For)}
    return replace(function, body=_block(body, Fresh(taken)))


def _block(body: tuple[Stmt, ...], names: Fresh) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    for stmt in body:
        inner = map_blocks(stmt, lambda block: _block(block, names))
        done.extend(_store(inner, names) if isinstance(inner, Assign) else (inner,))
    return tuple(done)


def _store(stmt: Assign, names: Fresh) -> Iterator[Stmt]:
    match stmt.target:
        case Swizzle(value=Var(type=Vector()) as local, components=components) if is_floating(local.type):
            before, parts = _held_parts(stmt, components, names)
            yield from before
            yield _whole(stmt, local, [parts.get(c) for c in "xyzw"])
        case Index(value=Var(type=Vector()) as local, index=index) if is_floating(local.type):
            before, value = _held(stmt.value, names, stmt)
            yield from before
            before, index = _held(index, names, stmt)
            yield from before
            yield _whole(stmt, local, [_if_at(index, i, value, local) for i in range(4)])
        case _:
            yield stmt


def _whole(stmt: Assign, local: Var, parts: list[Expr | None]) -> Assign:
    """One store of all components; those without a new value keep theirs."""
    assert isinstance(local.type, Vector)  # noqa: S101  (matched by the callers)
    known = [p or _component(local, i) for i, p in enumerate(parts[: local.type.size])]
    return replace(stmt, target=local, value=Construct(tuple(known), local.type, stmt.span))


def _component(local: Var, i: int) -> Expr:
    assert isinstance(local.type, Vector)  # noqa: S101  (as above)
    return Swizzle(local, "xyzw"[i], local.type.element, local.span)


def _if_at(index: Expr, i: int, value: Expr, local: Var) -> Expr | None:
    """The new value of component ``i`` when ``index`` says where it goes; None where it keeps the old one."""
    assert isinstance(local.type, Vector)  # noqa: S101  (as above)
    if i >= local.type.size:
        return None
    if isinstance(index, Const):
        return value if index.value == i else None
    here = Binary("==", index, Const(i, index.type, index.span), BOOL, index.span)
    return Ternary(here, value, _component(local, i), local.type.element, value.span)


def _held_parts(stmt: Assign, components: str, names: Fresh) -> tuple[tuple[Stmt, ...], dict[str, Expr]]:
    """The new value of each stored component."""
    value = stmt.value
    if len(components) == 1:
        return (), {components: value}
    if isinstance(value, Construct) and len(value.args) == len(components):
        return (), dict(zip(components, value.args, strict=True))
    before, held = _held(value, names, stmt)
    assert isinstance(held.type, Vector)  # noqa: S101  (several components are stored from a vector)
    element = held.type.element
    return before, {c: Swizzle(held, "xyzw"[i], element, value.span) for i, c in enumerate(components)}


def _held(value: Expr, names: Fresh, stmt: Assign) -> tuple[tuple[Stmt, ...], Expr]:
    """A value that can be named several times, kept in a local where it is not a name or number already."""
    if isinstance(value, (Var, Const, ConstantRef)):
        return (), value
    local = Var(names.name("stored"), value.type, value.span)
    return (Assign(local, value, stmt.span),), local
