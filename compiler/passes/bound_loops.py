"""Give every loop a constant trip count, which needs no ``[MaxIters]`` and is right in nested reverse mode.

    while c limit 8: body            for turn in 0 .. 8: if !c: break; body
    for i in 0 .. n limit 8: body    for i in 0 .. 8: if i >= n: break; body
    for i in a .. n limit 8: body    for turn in 0 .. 8: i = a + turn; if i >= n: break; body

A loop stops after its limit in forward and backward mode alike; a loop without an iteration is removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.nodes import Assign, Binary, Break, Const, For, If, Unary, Var, While
from slangad.compiler.ir.types import BOOL, INT
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_functions, statements, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.nodes import Expr, Function, Module, Stmt


def bound_loops(module: Module) -> Module:
    """Rewrite every loop whose trip count is known only when it runs."""
    return map_functions(module, _function)


def _function(function: Function) -> Function:
    body = statements(function)
    if not any(isinstance(s, (For, While)) for s in walk_stmts(body)):
        return function
    taken = {p.name for p in function.params} | {e.name for e in body_exprs(body) if isinstance(e, Var)}
    taken |= {s.variable for s in walk_stmts(body) if isinstance(s, For)}
    return replace(function, body=_block(body, Fresh(taken)))


def _block(body: Block, names: Fresh) -> Block:
    runs = (s for s in body if not _never_runs(s))
    return tuple(_stmt(map_blocks(s, lambda inner: _block(inner, names)), names) for s in runs)


def _never_runs(stmt: Stmt) -> bool:
    """Return True if a loop has no iteration; Slang warns about such loops."""
    match stmt:
        case For(start=Const(value=start), stop=Const(value=stop), step=step):
            return len(range(int(start), int(stop), step)) == 0
        case For(limit=0) | While(limit=0):
            return True
        case _:
            return False


def _stmt(stmt: Stmt, names: Fresh) -> Stmt:
    match stmt:
        case While(condition, limit, body):
            head = () if condition == Const(value=True, type=BOOL) else (_break_unless(condition),)
            return _counted(names.name("turn"), limit, (*head, *body), stmt)
        case For(start=Const(), stop=Const()):
            return stmt
        case For(start=Const(value=0), step=1):
            return _counted(stmt.variable, stmt.limit, (_break_past(stmt), *stmt.body), stmt)
        case For():
            return _from_start(stmt, names)
        case _:
            return stmt


def _counted(variable: str, limit: int, body: Block, loop: For | While) -> For:
    unroll = isinstance(loop, For) and loop.unroll
    type_ = loop.start.type if isinstance(loop, For) else INT
    start, stop = Const(0, type_), Const(limit, type_)
    return For(variable, start, stop, 1, limit, bounded=False, unroll=unroll, body=body, span=loop.span)


def _from_start(loop: For, names: Fresh) -> For:
    """Return a loop over iterations, which computes the variable from its start."""
    type_ = loop.start.type
    turn = names.var("turn", type_)
    advanced: Expr = turn if abs(loop.step) == 1 else Binary("*", turn, Const(abs(loop.step), type_), type_)
    value = Binary("+" if loop.step > 0 else "-", loop.start, advanced, type_)
    variable = Assign(Var(loop.variable, type_), value, loop.span)
    return _counted(turn.name, loop.limit, (variable, _break_past(loop), *loop.body), loop)


def _break_past(loop: For) -> If:
    comparison = ">=" if loop.step > 0 else "<="
    past = Binary(comparison, Var(loop.variable, loop.start.type), loop.stop, BOOL, loop.span)
    return If(past, (Break(loop.span),), (), loop.span)


def _break_unless(condition: Expr) -> If:
    ended = Unary("!", condition, BOOL, condition.span)
    return If(ended, (Break(condition.span),), (), condition.span)
