"""The integers that an expression can be, as far as they are known when the file is loaded.

n = len(a)              n is 4
for i in range(n):      i is 0 to 3
for j in range(i):  j is 0 to 2, so the loop runs at most 3 times
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.intervals import Interval, combine

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT: Final = 2**31
"""Integers wrap around from here on."""


def interval_of(expr: ir.Expr, known: Mapping[str, Interval]) -> Interval | None:
    """Return the values that an integer can have; None if they are not known.

    Args:
        expr: An expression of type ``int``.
        known: The values of locals.
    """
    static = static_int(expr)
    if static is not None:
        return Interval(static, static)
    if expr.type not in (types.INT, types.WEAK_INT):
        return None
    match expr:
        case ir.Var(name=name):
            return known.get(name)
        case ir.Unary(op="-", operand=operand):
            inner = interval_of(operand, known)
            return _checked(Interval(-inner.high, -inner.low)) if inner else None
        case ir.Binary(op=op, left=left, right=right):
            return _checked(combine(op, interval_of(left, known), interval_of(right, known)))
        case ir.Intrinsic(name="min" | "max" as name, args=args):
            return reduce(partial(combine, name), (interval_of(one, known) for one in args))
        case _:
            return None


def _checked(interval: Interval | None) -> Interval | None:
    """Return the interval unless its values can wrap around."""
    return interval if interval and -_LIMIT <= interval.low <= interval.high < _LIMIT else None


def most_iterations(start: Interval, stop: Interval, step: int) -> int:
    """Return the largest number of iterations of ``range(start, stop, step)``."""
    return len(range(start.low, stop.high, step) if step > 0 else range(start.high, stop.low, step))


def values_of_counter(start: Interval, stop: Interval, step: int) -> Interval | None:
    """Return the values of a loop variable; None if the loop never runs."""
    low, high = (start.low, stop.high - 1) if step > 0 else (stop.low + 1, start.high)
    return Interval(low, high) if low <= high else None
