"""The numbers that a setting may have: one test of a value, and one text for its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Final


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range of finite numbers.

    Attributes:
        low: The least number; infinity below zero if there is none.
        is_open: True if ``low`` itself is outside.
        below: The number below which all lie.
    """

    low: float = -math.inf
    is_open: bool = False
    below: float = math.inf

    def contain(self, value: object) -> bool:
        """Return True for a finite number in the range; False for a bool."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        try:
            number = float(value)
        except OverflowError:  # an int
            return False
        return (
            math.isfinite(number)
            and number < self.below
            and (number > self.low or (number == self.low and not self.is_open))
        )

    def __str__(self) -> str:
        """Return the range in words: ``a number from 0 to below 1``."""
        start = "" if self.low == -math.inf else f" above {self.low:g}" if self.is_open else f" from {self.low:g}"
        if self.below < math.inf:
            return f"a number{start} to below {self.below:g}"
        return f"a number{start}" if self.is_open or not start else f"a number of at least {self.low:g}"


ANY: Final = Bounds()
POSITIVE: Final = Bounds(0.0, is_open=True)
NOT_NEGATIVE: Final = Bounds(0.0)
FRACTION: Final = Bounds(0.0, below=1.0)
