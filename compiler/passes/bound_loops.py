"""Give every loop a constant trip count, which needs no ``[MaxIters]`` and is right in nested reverse mode.

    while c limit 8: body            for turn in 0 .. 8: if !c: break; body
    for i in 0 .. n limit 8: body    for i in 0 .. 8: if i >= n: break; body
    for i in a .. n limit 8: body    for turn in 0 .. 8: i = a + turn; if i >= n: break; body

A loop stops after its limit in every mode. A loop without an iteration is removed. The loops of derivatives that a pass
has made stop at their bounds, so they stay, where Slang does not differentiate them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import BOOL, INT
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_functions, statements, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block


def bound_loops(module: ir.Module) -> ir.Module:
    """Rewrite every loop whose trip count is known only when it runs."""
    return map_functions(module, _function)


def _function(function: ir.Function) -> ir.Function:
    body = statements(function)
    if not any(isinstance(s, (ir.For, ir.While)) for s in walk_stmts(body)):
        return function
    taken = {p.name for p in function.params} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
    taken |= {s.variable for s in walk_stmts(body) if isinstance(s, ir.For)}
    return replace(function, body=_block(body, Fresh(taken), kept=not is_differentiated(function)))


def _block(body: Block, names: Fresh, *, kept: bool) -> Block:
    runs = (s for s in body if not _never_runs(s))
    made = (map_blocks(s, lambda inner: _block(inner, names, kept=kept)) for s in runs)
    return tuple(s if kept and _stops(s) else _stmt(s, names) for s in made)


def _stops(stmt: ir.Stmt) -> bool:
    """Return True if a loop stops at its bounds, which are at most its limit."""
    return isinstance(stmt, ir.For) and not stmt.bounded


def _never_runs(stmt: ir.Stmt) -> bool:
    """Return True if a loop has no iteration; Slang warns about such loops."""
    match stmt:
        case ir.For(start=ir.Const(value=start), stop=ir.Const(value=stop), step=step):
            return len(range(int(start), int(stop), step)) == 0
        case ir.For(limit=0) | ir.While(limit=0):
            return True
        case _:
            return False


def _stmt(stmt: ir.Stmt, names: Fresh) -> ir.Stmt:
    match stmt:
        case ir.While(condition, _, body):
            head = () if condition == ir.Const(value=True, type=BOOL) else (_break_unless(condition),)
            return _counted(names.name("turn"), (*head, *body), stmt)
        case ir.For(start=ir.Const(), stop=ir.Const()):
            return stmt
        case ir.For(start=ir.Const(value=0), step=1):
            return _counted(stmt.variable, (_break_past(stmt), *stmt.body), stmt)
        case ir.For():
            return _from_start(stmt, names)
        case _:
            return stmt


def _counted(variable: str, body: Block, loop: ir.For | ir.While) -> ir.For:
    unroll, together = (loop.unroll, loop.together) if isinstance(loop, ir.For) else (False, False)
    type_ = loop.start.type if isinstance(loop, ir.For) else INT
    start, stop = ir.Const(0, type_), ir.Const(loop.limit, type_, formula=loop.limit_formula)
    return ir.For(
        variable, start, stop, 1, loop.limit, bounded=False, unroll=unroll, body=body, span=loop.span, together=together
    )


def _from_start(loop: ir.For, names: Fresh) -> ir.For:
    """Return a loop over iterations, which computes the variable from its start."""
    type_ = loop.start.type
    turn = names.var("turn", type_)
    advanced: ir.Expr = turn if abs(loop.step) == 1 else ir.Binary("*", turn, ir.Const(abs(loop.step), type_), type_)
    value = ir.Binary("+" if loop.step > 0 else "-", loop.start, advanced, type_)
    variable = ir.Assign(ir.Var(loop.variable, type_), value, loop.span)
    return _counted(turn.name, (variable, _break_past(loop), *loop.body), loop)


def _break_past(loop: ir.For) -> ir.If:
    comparison = ">=" if loop.step > 0 else "<="
    past = ir.Binary(comparison, ir.Var(loop.variable, loop.start.type), loop.stop, BOOL, loop.span)
    return ir.If(past, (ir.Break(loop.span),), (), loop.span)


def _break_unless(condition: ir.Expr) -> ir.If:
    ended = ir.Unary("!", condition, BOOL, condition.span)
    return ir.If(ended, (ir.Break(condition.span),), (), condition.span)
