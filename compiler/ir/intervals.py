"""Arithmetic of intervals: the smallest and the largest value that an integer can have."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """The smallest and the largest value of an integer."""

    low: int
    high: int

    @property
    def only(self) -> int | None:
        """Return the value if there is only one."""
        return self.low if self.low == self.high else None


def combine(op: str, left: Interval | None, right: Interval | None) -> Interval | None:
    """Return the values of an operator, or of ``min`` or ``max``; None if they are not known."""
    if left is None or right is None:
        return None
    match op:
        case "+":
            return Interval(left.low + right.low, left.high + right.high)
        case "-":
            return Interval(left.low - right.high, left.high - right.low)
        case "*":
            corners = [a * b for a in left for b in right]
            return Interval(min(corners), max(corners))
        case "min":
            return Interval(min(left.low, right.low), min(left.high, right.high))
        case "max":
            return Interval(max(left.low, right.low), max(left.high, right.high))
        case _:
            return None
