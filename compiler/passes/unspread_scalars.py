"""Replace ``v * float3(s)`` by ``v * s`` where Slang compiles the short form correctly.

Front ends spread every scalar that meets a vector: ``float3(s)``. Slang accepts ``v * s`` too. But in a differentiated
function with branches or loops, the compiler crashes or the gradient is zero. With matrices ``v * s`` is always wrong,
and so is ``s * v``, ``v + s`` or ``s / v`` if ``s`` is a parameter. So only correct short forms are used:

    v * float3(2.0)  ->  v * 2.0      always
    v * float3(s)    ->  v * s        and v / s: in straight-line functions, for vectors
    float3(s) - v    ->  s - v        and all others: in functions that are not differentiated, for vectors
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import Vector, is_scalar
from slangad.compiler.ir.walk import body_exprs, map_exprs_of, map_functions, rewrite, statements, walk_stmts

_MIXED: Final = frozenset({"+", "-", "*", "/"})


def unspread_scalars(module: ir.Module) -> ir.Module:
    """Replace spread scalars by scalars where Slang's mixed arithmetic is right."""
    return map_functions(module, _function)


def _function(function: ir.Function) -> ir.Function:
    left = not is_differentiated(function)
    right = left or not _branches(function)
    return map_exprs_of(function, lambda e: rewrite(e, lambda x: _expr(x, left=left, right=right)))


def _branches(function: ir.Function) -> bool:
    body = statements(function)
    if any(isinstance(s, (ir.If, ir.For, ir.While)) for s in walk_stmts(body)):
        return True
    return any(
        isinstance(e, ir.Ternary) or (isinstance(e, ir.Binary) and e.op in ("&&", "||")) for e in body_exprs(body)
    )


def _expr(expr: ir.Expr, *, left: bool, right: bool) -> ir.Expr:
    """Rewrite an expression. Any scalar may stand alone on the left with ``left``, on the right with ``right``.

    In sums, ``left`` holds for both sides.
    """
    match expr:
        case ir.Binary(op=op, left=a, right=b) if op in _MIXED:
            spread = _spread(b, free=right if op in ("*", "/") else left)
            if spread is not None:
                return replace(expr, right=spread)
            spread = _spread(a, free=left)
            if spread is not None and not is_scalar(b.type):
                return replace(expr, left=spread)
            return expr
        case _:
            return expr


def _spread(expr: ir.Expr, *, free: bool) -> ir.Expr | None:
    """Return the scalar that an operand spreads, if it may stand alone."""
    match expr:
        case ir.Construct(args=(arg,), type=type_) if is_scalar(arg.type) and arg.type != type_:
            literal = isinstance(arg, ir.Const) or (isinstance(arg, ir.Unary) and isinstance(arg.operand, ir.Const))
            return arg if literal or (free and isinstance(type_, Vector)) else None
        case _:
            return None
