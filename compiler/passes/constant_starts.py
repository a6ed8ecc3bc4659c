"""Cuts the derivative of constants that a vector starts from, where only parts of it change afterwards.

Slang 2026.12 confuses value and tangent in forward mode when a component is stored into a vector, matrix or array of
vectors that is a literal so far, and a branch, loop or ternary follows: the other components' tangents become their
values. A literal whose derivative is cut is not folded into the store, and everything is right:

    float2 v = float2(0.5, 1.5);    ->    float2 v = detach(float2(0.5, 1.5));
    v.x = x;                              v.x = x;
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.nodes import (
    Assign,
    BackwardCall,
    Call,
    ConstantRef,
    For,
    ForwardCall,
    If,
    NoDiff,
    Stmt,
    Ternary,
    ThreadCount,
    ThreadId,
    Var,
    While,
)
from slangad.compiler.ir.types import Array, Matrix, Type, Vector, carries_gradient
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_functions, root, walk, walk_stmts
from slangad.compiler.passes.carrying import is_differentiated

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Expr, Function, Module

Block = tuple[Stmt, ...]


def cut_constant_starts(module: Module) -> Module:
    """Cuts the derivative of literals that locals with stored parts begin with."""
    return map_functions(module, _function)


def _function(function: Function) -> Function:
    if not isinstance(function.body, tuple) or not is_differentiated(function) or not _forks(function.body):
        return function
    names = _partly_stored(function.body)
    return replace(function, body=_block(function.body, names)) if names else function


def _forks(body: Block) -> bool:
    return any(isinstance(s, (If, For, While)) for s in walk_stmts(body)) or any(
        isinstance(e, Ternary) for e in body_exprs(body)
    )


def _partly_stored(body: Block) -> frozenset[str]:
    """Locals into parts of which is stored, and those they are copied from."""
    stores = [s for s in walk_stmts(body) if isinstance(s, Assign)]
    found: set[str] = set()
    for stmt in stores:
        owner = root(stmt.target)
        if owner is not None and not isinstance(stmt.target, Var) and _is_folded(owner.type):
            found.add(owner.name)
    copies = {(s.target.name, source) for s in stores if isinstance(s.target, Var) for source in _sources(s.value)}
    while True:
        more = {source for target, source in copies if target in found} - found
        if not more:
            return frozenset(found)
        found |= more


def _sources(value: Expr) -> tuple[str, ...]:
    match value:
        case Var(name=name):
            return (name,)
        case Ternary(then=then, other=other):
            return (*_sources(then), *_sources(other))
        case _:
            return ()


def _is_folded(type_: Type) -> bool:
    """Whether Slang keeps a literal of the type as one value: structs and arrays of scalars it takes apart."""
    while isinstance(type_, Array):
        type_ = type_.element
    return isinstance(type_, (Vector, Matrix)) and carries_gradient(type_)


def _block(body: Block, names: frozenset[str]) -> Block:
    return tuple(map_blocks(_stmt(s, names), lambda inner: _block(inner, names)) for s in body)


def _stmt(stmt: Stmt, names: frozenset[str]) -> Stmt:
    if isinstance(stmt, Assign) and isinstance(stmt.target, Var) and stmt.target.name in names:
        return replace(stmt, value=_cut(stmt.value))
    return stmt


def _cut(value: Expr) -> Expr:
    if isinstance(value, Ternary):
        return replace(value, then=_cut(value.then), other=_cut(value.other))
    if not _is_folded(value.type) or isinstance(value, NoDiff) or not _is_literal(value):
        return value
    return NoDiff(value, value.type, value.span)


def _is_literal(value: Expr) -> bool:
    return not any(
        isinstance(e, (Var, Call, BackwardCall, ForwardCall, ConstantRef, ThreadId, ThreadCount)) for e in walk(value)
    )
