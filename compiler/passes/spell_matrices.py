"""Rewrite matrix arithmetic so that every target compiles it and its derivatives.

    -m       ->  m * -1.0             unary minus on a matrix is no C++
    m - n    ->  m + n * -1.0         its derivative has one
    m / n    ->  divide(m, n)         no Metal, no WGSL, and no C++ in its derivative

``divide`` of slangad's library divides by rows. A matrix divided by a literal is unchanged.
"""

from __future__ import annotations

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import number
from slangad.compiler.ir.types import Matrix
from slangad.compiler.ir.walk import map_exprs_of, map_functions, rewrite


def spell_matrices(module: ir.Module) -> ir.Module:
    """Rewrite negation, subtraction and division of matrices."""
    return map_functions(module, lambda function: map_exprs_of(function, lambda e: rewrite(e, _expr)))


def _expr(expr: ir.Expr) -> ir.Expr:
    match expr:
        case ir.Unary("-", operand=operand, type=Matrix()):
            return _negated(operand, expr)
        case ir.Binary("-", left=left, right=right, type=Matrix() as type_):
            return ir.Binary("+", left, _negated(right, expr), type_, expr.span)
        case ir.Binary("/", left=left, right=right, type=Matrix() as type_):
            literal = isinstance(right, ir.Construct) and all(isinstance(a, ir.Const) for a in right.args)
            return expr if literal else ir.Intrinsic("divide", (left, right), type_, expr.span)
        case _:
            return expr


def _negated(operand: ir.Expr, expr: ir.Expr) -> ir.Expr:
    return ir.Binary("*", operand, number(-1.0, expr.type), expr.type, expr.span)
