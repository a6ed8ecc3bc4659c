"""Rewrite matrix arithmetic so that every target compiles it and its derivatives.

    -m       ->  m * -1.0             unary minus on a matrix is no C++
    m - n    ->  m + n * -1.0         its derivative has one
    m / n    ->  divide(m, n)         no Metal, no WGSL, and no C++ in its derivative; slangad's library does it by rows

A matrix divided by a literal stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.ir.build import number
from slangad.compiler.ir.nodes import Binary, Const, Construct, Intrinsic, Unary
from slangad.compiler.ir.types import Matrix
from slangad.compiler.ir.walk import map_exprs_of, map_functions, rewrite

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Expr, Module


def spell_matrices(module: Module) -> Module:
    """Rewrite negation, subtraction and division of matrices."""
    return map_functions(module, lambda function: map_exprs_of(function, lambda e: rewrite(e, _expr)))


def _expr(expr: Expr) -> Expr:
    match expr:
        case Unary("-", operand=operand, type=Matrix()):
            return _negated(operand, expr)
        case Binary("-", left=left, right=right, type=Matrix() as type_):
            return Binary("+", left, _negated(right, expr), type_, expr.span)
        case Binary("/", left=left, right=right, type=Matrix() as type_):
            literal = isinstance(right, Construct) and all(isinstance(a, Const) for a in right.args)
            return expr if literal else Intrinsic("divide", (left, right), type_, expr.span)
        case _:
            return expr


def _negated(operand: Expr, expr: Expr) -> Expr:
    return Binary("*", operand, number(-1.0, expr.type), expr.type, expr.span)
