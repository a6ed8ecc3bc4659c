"""Give a function one return, at its end.

if c { return a }                if c { result = a }
x = f(b)                   ->    else { x = f(b)  result = x * x }
return x * x                     return result
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.walk import body_exprs, statements, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block


def with_one_return(function: ir.Function) -> ir.Function | None:
    """Return a function with one return; None if statements would be there twice, or a loop returns."""
    body = statements(function)
    if not _returns(body[:-1]):
        return function
    taken = {p.name for p in function.params} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
    result = Fresh(taken).var("result", function.result)
    made = _joined(body, result)
    return None if made is None else replace(function, body=(*made, ir.Return(result)))


def _joined(body: Block, result: ir.Var) -> Block | None:
    """Return statements that set the result where they returned it."""
    for number, stmt in enumerate(body):
        if isinstance(stmt, ir.Return):
            return None if stmt.value is None else (*body[:number], ir.Assign(result, stmt.value, stmt.span))
        if not _returns((stmt,)):
            continue
        if not isinstance(stmt, ir.If) or not (_leaves(stmt.then) or _leaves(stmt.other)):
            return None
        rest = body[number + 1 :]
        sides = [_joined(side if _leaves(side) else (*side, *rest), result) for side in (stmt.then, stmt.other)]
        if sides[0] is None or sides[1] is None:
            return None
        return (*body[:number], replace(stmt, then=sides[0], other=sides[1]))
    return None


def _returns(body: Block) -> bool:
    return any(isinstance(s, ir.Return) for s in walk_stmts(body))


def _leaves(body: Block) -> bool:
    """Return True if statements always end with a return."""
    match body:
        case (*_, ir.Return()):
            return True
        case (*_, ir.If(then=then, other=other)):
            return _leaves(then) and _leaves(other)
        case _:
            return False
