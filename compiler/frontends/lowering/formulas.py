"""Keep how the user wrote a number that is computed when the file is loaded: ``HALF_WIDTH - 1`` rather than 7."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.conversions import RANGES
from slangad.compiler.ir.nodes import Binary, Const, Expr, Unary
from slangad.compiler.ir.types import INT

if TYPE_CHECKING:
    from slangad.compiler.frontends.lowering.operators import Number

    Formula = Expr | str | None

_ALIKE: Final = frozenset(("+", "-", "*", "&", "|", "^", "<<", ">>"))
"""Operators on ints that mean the same in Python and in Slang, if no result overflows."""
_UNSIGNED: Final = {"//": "/", "%": "%"}
"""Those that do so for numbers that are not negative."""
_LONGEST: Final = 60
"""Characters of a text that is worth a comment."""


def formula_of(node: ast.AST, symbol: str, left: Const, right: Const, value: Number) -> Formula:
    """Return the formula of a binary operation on constants; None if both are plain numbers."""
    if left.formula is None and right.formula is None:
        return None
    first, second, result = (_as_int(one) for one in (left, right, Const(value, INT)))
    if first is None or second is None or result is None:
        return _text(node)
    if symbol in _ALIKE:
        return Binary(symbol, first, second, INT)
    if symbol in _UNSIGNED and left.value >= 0 and right.value >= 0:
        return Binary(_UNSIGNED[symbol], first, second, INT)
    return _text(node)


def negated_formula(operand: Const, node: ast.AST | None = None) -> Formula:
    """Return the formula of the negative of a constant; None if that is a plain number."""
    if operand.formula is None:
        return None
    first, result = _as_int(operand), _as_int(Const(-operand.value, INT))
    return Unary("-", first, INT) if first is not None and result is not None else _text(node)


def _as_int(constant: Const) -> Const | None:
    """Return a constant as an int; None if it is no int of 32 bits."""
    low, high = RANGES["int"]
    is_int = isinstance(constant.value, int) and low <= constant.value <= high
    return replace(constant, type=INT) if is_int else None


def _text(node: ast.AST | None) -> str | None:
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    return text if 0 < len(text) <= _LONGEST else None
