"""Hide additions to counters from Slang, where the start of the counter is not constant.

If a loop adds a constant to an integer, Slang's reverse mode does not keep the integer. It computes it from its start
and the iteration. But the start is kept only if it is a constant: else the text has an undeclared name, and the
compiler fails for SPIR-V (docs/slang-notes.md). A sum that a function returns is kept:

    at = n; for i in 0 .. 3: at = at + 1    ->    at = n; for i in 0 .. 3: at = counted(at + 1)
    at = 0; for i in 0 .. 3: at = at + 1          unchanged
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.assignment import sets_before_reading
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import INT, UINT
from slangad.compiler.ir.walk import map_blocks, map_functions, root, statements, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block


def hide_counters(module: ir.Module) -> ir.Module:
    """Rewrite additions to integers that start at a computed value, in the loops that Slang differentiates."""
    return map_functions(module, _function)


def _function(function: ir.Function) -> ir.Function:
    if not is_differentiated(function) or not isinstance(function.body, tuple):
        return function
    return replace(function, body=_block(statements(function), frozenset()))


def _block(body: Block, constant: frozenset[str]) -> Block:
    """Return a block with rewritten loops; ``constant`` are the locals with constant values before it."""
    made = []
    for stmt in body:
        stored = _stored((stmt,))
        made.append(_stmt(stmt, constant, constant - stored))
        constant = constant | stored if _is_constant(stmt) else constant - stored
    return tuple(made)


def _stmt(stmt: ir.Stmt, before: frozenset[str], within: frozenset[str]) -> ir.Stmt:
    if isinstance(stmt, ir.For) and not stmt.unroll:
        stmt = replace(stmt, body=_iteration(stmt.body, before))
    return map_blocks(stmt, lambda block: _block(block, within))


def _iteration(body: Block, constant: frozenset[str]) -> Block:
    """Return the body of a loop. Slang keeps what is added in a block, or where an iteration may have ended."""
    end = next((k for k, stmt in enumerate(body) if _may_end(stmt)), len(body))
    head = (_hidden(stmt) if _counts(stmt, body, constant) else stmt for stmt in body[:end])
    return (*head, *body[end:])


def _may_end(stmt: ir.Stmt) -> bool:
    """Return True if a statement may end the iteration of the loop around it."""
    match stmt:
        case ir.Break() | ir.Continue() | ir.Return():
            return True
        case ir.If(then=then, other=other):
            return any(map(_may_end, (*then, *other)))
        case _:
            return False


def _counts(stmt: ir.Stmt, body: Block, constant: frozenset[str]) -> bool:
    """Return True if a statement of a loop may add a constant to an integer that an iteration hands to the next."""
    match stmt:
        case ir.Assign(target=ir.Var(name, type), value=ir.Var() | ir.Binary(op="+" | "-")) if type in (INT, UINT):
            return name not in constant and not sets_before_reading(body, name)
        case _:
            return False


def _hidden(stmt: ir.Stmt) -> ir.Stmt:
    assert isinstance(stmt, ir.Assign)  # noqa: S101  (what counts is a store)
    return replace(stmt, value=ir.Intrinsic("counted", (stmt.value,), stmt.value.type, stmt.value.span))


def _stored(body: Block) -> frozenset[str]:
    """Return the locals that statements store into."""
    stmts = tuple(walk_stmts(body))
    targets = (root(s.target) for s in stmts if isinstance(s, ir.Assign))
    names = {v.name for v in targets if v is not None} | {s.name for s in stmts if isinstance(s, ir.Let)}
    return frozenset(names | {s.variable for s in stmts if isinstance(s, ir.For)})


def _is_constant(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var) and isinstance(stmt.value, ir.Const)
