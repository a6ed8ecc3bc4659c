"""Print a number as the user wrote it, with the names of constants: ``k < HALF_WIDTH - 1`` rather than ``k < 7``."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPERATORS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip


def spelled(number: ir.Const, integers: Mapping[str, int]) -> ir.Expr | None:
    """Return the expression that has the number's value in Slang; None if the number itself is printed.

    Args:
        number: The number.
        integers: The values of the module's integer constants, by key.
    """
    formula = number.formula
    if formula is None or isinstance(formula, str) or _computed(formula, integers) != number.value:
        return None
    if number.type == types.INT:
        return formula
    is_exact = number.type == types.FLOAT or (number.type == types.UINT and number.value >= 0)
    return ir.Cast(formula, number.type) if is_exact else None


def comment(number: ir.Const, names: Mapping[str, str]) -> str:
    """Return a comment behind a number that says where it comes from, or an empty text."""
    match number.formula:
        case str() as text if math.isfinite(number.value) and not _is_name(text):
            return f" /* {text} */"
        case ir.ConstantRef(key) if key in names:
            return f" /* {names[key]} */"
        case _:
            return ""


def _is_name(text: str) -> bool:
    """Return True for names such as ``math.pi``, which need no comment."""
    return text.replace(".", "_").isidentifier()


def _computed(formula: ir.Expr, integers: Mapping[str, int]) -> int | None:
    """Return the value of a formula; None if it has none in Slang."""
    match formula:
        case ir.Const(value=value):
            return int(value)
        case ir.ConstantRef(key):
            return integers.get(key)
        case ir.Unary("-", operand):
            positive = _computed(operand, integers)
            return None if positive is None else -positive
        case ir.Binary(op, left, right):
            first, second = _computed(left, integers), _computed(right, integers)
            return None if first is None or second is None else _OPERATORS[op](first, second)
        case _:
            return None
