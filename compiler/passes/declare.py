"""Declares locals where Slang wants them declared.

Front ends only assign. A local is declared at its first assignment when that stands in the innermost block that holds
all its uses, else without a value at the top of what uses it there:

    x = a * b                  float x = a * b;
    if c: y = x                float y;
    else: y = 0.0              if (c) { y = x; } else { y = 0.0; }
    return y                   return y;

A local whose value goes from one turn of a loop to the next is declared outside the loop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.nodes import Assign, Expr, For, Function, Let, Module, Stmt, Var, While
from slangad.compiler.ir.walk import (
    blocks,
    map_blocks,
    map_functions,
    statements,
    stmt_exprs,
    walk,
    walk_stmts,
)
from slangad.compiler.passes.assignment import sets_before_reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.types import Type

Block = tuple[Stmt, ...]


def declare_locals(module: Module) -> Module:
    """Places a ``Let`` for every local of every function."""
    return map_functions(module, _declare)


def _declare(function: Function) -> Function:
    body = statements(function)
    if not body:
        return function
    known = {p.name for p in function.params}
    known |= {s.name for s in walk_stmts(body) if isinstance(s, Let)}
    known |= {s.variable for s in walk_stmts(body) if isinstance(s, For)}
    for name, type_ in _assigned(body):
        if name not in known:
            body = _place(body, name, type_)
    return replace(function, body=body)


def _assigned(body: Block) -> list[tuple[str, Type]]:
    """Every assigned local with its type, in order of first assignment."""
    found: dict[str, Type] = {}
    for stmt in walk_stmts(body):
        if isinstance(stmt, Assign) and isinstance(stmt.target, Var):
            found.setdefault(stmt.target.name, stmt.target.type)
    return list(found.items())


def _place(block: Block, name: str, type_: Type) -> Block:
    """Declares a local in a block, or in the nested blocks that use it when they have no need to share it."""
    users = [position for position, stmt in enumerate(block) if _uses(stmt, name)]
    if all(_apart(block[position], name) for position in users):
        return tuple(
            map_blocks(stmt, lambda inner: _place(inner, name, type_) if _mentions(inner, name) else inner)
            if position in users
            else stmt
            for position, stmt in enumerate(block)
        )
    first = users[0]
    match block[first]:
        case Assign(target=Var(target), value=value) as stmt if target == name and not _in(value, name):
            return (*block[:first], Let(name, type_, value, stmt.span), *block[first + 1 :])
        case stmt:
            return (*block[:first], Let(name, type_, None, stmt.span), *block[first:])


def _apart(stmt: Stmt, name: str) -> bool:
    """Whether a local is used only in the nested blocks of a statement, each of which sets it before reading it."""
    if any(_in(expr, name) for expr in stmt_exprs(stmt)):
        return False
    used = [block for block in blocks(stmt) if _mentions(block, name)]
    if isinstance(stmt, (For, While)):
        return all(sets_before_reading(block, name) for block in used)
    return bool(used)


def _uses(stmt: Stmt, name: str) -> bool:
    return any(_in(e, name) for e in stmt_exprs(stmt)) or any(_mentions(block, name) for block in blocks(stmt))


def _mentions(block: Block, name: str) -> bool:
    return any(_in(expr, name) for expr in _expressions(block))


def _expressions(block: Block) -> Iterator[Expr]:
    for stmt in walk_stmts(block):
        yield from stmt_exprs(stmt)


def _in(expr: Expr, name: str) -> bool:
    return any(isinstance(e, Var) and e.name == name for e in walk(expr))
