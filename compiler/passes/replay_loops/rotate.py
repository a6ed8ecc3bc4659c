"""Check at the end of an iteration what the next one would check at its beginning.

    through = 1.0                                 through = 1.0
    for k in 0 .. n:                              for k in 0 .. n:
        if through < 1e-4: break          ->          through = through * (1 - alpha)
        through = through * (1 - alpha)               if through < 1e-4: break

The state after every iteration but the last is then known to be large enough to be divided back (``undo``). It must be
certain that the first check does not end the loop, and the check must read nothing but the state.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.walk import map_blocks, walk_stmts
from slangad.compiler.passes.replay_loops.read import names_in, stored_in

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block

_COMPARED: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def rotated(stmt: ir.For | ir.While, before: Block) -> ir.For | ir.While:
    """Return a loop that checks at the end of its iterations; itself if it has no such check, or loops in it.

    Args:
        stmt: The loop.
        before: The statements of its block before it.
    """
    match stmt:
        case ir.For(variable=variable, body=(ir.If(condition, (ir.Break(),), ()) as check, *rest)) if not any(
            isinstance(s, (ir.For, ir.While)) for s in walk_stmts(tuple(rest))
        ):
            pass
        case _:
            return stmt
    first = {name: _last_value(before, name) for name in names_in(condition)}
    if variable in first or _holds(condition, first) is not False or not first.keys() <= {*stored_in(tuple(rest))}:
        return stmt
    return replace(stmt, body=(*_checked(tuple(rest), check), check))


def _checked(body: Block, check: ir.If) -> Block:
    """Return a block with the check before every ``continue``."""
    result: list[ir.Stmt] = []
    for stmt in body:
        if isinstance(stmt, ir.Continue):
            result.append(check)
        result.append(map_blocks(stmt, partial(_checked, check=check)))
    return tuple(result)


def _last_value(before: Block, name: str) -> ir.Const | None:
    """Return the constant that a local has after statements; None if that is not known."""
    for stmt in reversed(before):
        if name in {*stored_in((stmt,))}:
            match stmt:
                case ir.Assign(ir.Var(), ir.Const() as value):
                    return value
                case _:
                    return None
    return None


def _holds(condition: ir.Expr, known: dict[str, ir.Const | None]) -> bool | None:
    """Return whether a comparison of numbers holds; None if that is not known."""
    match condition:
        case ir.Binary(op, left, right) if op in _COMPARED:
            values = [known.get(e.name) if isinstance(e, ir.Var) else e for e in (left, right)]
            a, b = (float(v.value) if isinstance(v, ir.Const) else None for v in values)
            return None if a is None or b is None else bool(_COMPARED[op](a, b))
        case _:
            return None
