"""Declare every local in the block where Slang needs the declaration.

Front ends only assign. A local is declared in the innermost block that contains all its uses. If its first use there is
an assignment, this becomes the declaration. Otherwise a declaration without a value precedes its first use:

    x = a * b                  float x = a * b;
    if c: y = x                float y;
    else: y = 0.0              if (c) { y = x; } else { y = 0.0; }
    return y                   return y;

A local that keeps its value after a loop iteration is declared outside the loop and starts as zeros. Without a value,
Slang mistakes ``t`` in ``for (…) { t = i; }`` for ``i`` after the loop. A local that two loops use independently is
declared in both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.assignment import sets_before_reading
from slangad.compiler.ir.build import zero
from slangad.compiler.ir.types import DiffPair
from slangad.compiler.ir.walk import (
    blocks,
    map_blocks,
    map_functions,
    root,
    statements,
    stmt_exprs,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from slangad.compiler.ir.types import Type

Block = tuple[ir.Stmt, ...]


def declare_locals(module: ir.Module) -> ir.Module:
    """Place a ``Let`` for every local of every function."""
    return map_functions(module, _declare)


def _declare(function: ir.Function) -> ir.Function:
    body = statements(function)
    if not body:
        return function
    known = {p.name for p in function.params}
    known |= {s.name for s in walk_stmts(body) if isinstance(s, ir.Let)}
    for name, type_ in _assigned(body):
        if name not in known:
            body = _place(body, name, type_)
    return replace(function, body=body)


def _assigned(body: Block) -> list[tuple[str, Type]]:
    """Return every assigned local with its type, in order of first assignment."""
    result: dict[str, Type] = {}
    for stmt in walk_stmts(body):
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var):
            result.setdefault(stmt.target.name, stmt.target.type)
    return list(result.items())


def _place(block: Block, name: str, type_: Type) -> Block:
    """Return a block with a declaration of a local, and one in each earlier nested block that uses it independently."""
    users = [position for position, stmt in enumerate(block) if _uses(stmt, name)]
    shared = next((p for p in users if not _apart(block[p], block[p + 1 :], name)), len(block))
    before = tuple(_place_inside(stmt, name, type_) for stmt in block[:shared])
    if shared == len(block):
        return before
    match block[shared]:
        case ir.Assign(target=ir.Var(target), value=value) as stmt if target == name and not _in(value, name):
            return (*before, ir.Let(name, type_, value, stmt.span), *block[shared + 1 :])
        case stmt:
            rest = block[shared:]
            start = zero(type_) if _set_in_loop(rest, name) and not isinstance(type_, DiffPair) else None
            return (*before, ir.Let(name, type_, start, stmt.span), *rest)


def _set_in_loop(block: Block, name: str) -> bool:
    """Return True if any loop in a block assigns a local."""
    loops = [stmt for stmt in walk_stmts(block) if isinstance(stmt, (ir.For, ir.While))]
    inside = (stmt for loop in loops for stmt in walk_stmts(loop.body))
    targets = (root(s.target) for s in inside if isinstance(s, ir.Assign))
    return any(target is not None and target.name == name for target in targets)


def _place_inside(stmt: ir.Stmt, name: str, type_: Type) -> ir.Stmt:
    if _has_its_own(stmt, name):
        return stmt
    return map_blocks(stmt, lambda inner: _place(inner, name, type_) if _mentions(inner, name) else inner)


def _has_its_own(stmt: ir.Stmt, name: str) -> bool:
    """Return True if a loop's variable has the local's name and hides the local."""
    return isinstance(stmt, ir.For) and stmt.variable == name


def _apart(stmt: ir.Stmt, rest: Block, name: str) -> bool:
    """Return True if nested blocks of a statement use a local independently: no value enters or leaves them in it."""
    if any(_in(expr, name) for expr in stmt_exprs(stmt)) or not sets_before_reading(rest, name):
        return False
    used = [block for block in blocks(stmt) if _mentions(block, name)]
    if isinstance(stmt, (ir.For, ir.While)):
        return all(sets_before_reading(block, name) for block in used)
    return bool(used)


def _uses(stmt: ir.Stmt, name: str) -> bool:
    if any(_in(e, name) for e in stmt_exprs(stmt)):
        return True
    return not _has_its_own(stmt, name) and any(_mentions(block, name) for block in blocks(stmt))


def _mentions(block: Block, name: str) -> bool:
    return any(_uses(stmt, name) for stmt in block)


def _in(expr: ir.Expr, name: str) -> bool:
    return any(isinstance(e, ir.Var) and e.name == name for e in walk(expr))
