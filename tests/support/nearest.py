"""The float nearest to the exact sum of floats, by whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

SMALLEST = 149
"""The smallest float is 2 to the minus this."""


def in_smallest(value: float) -> int:
    """A finite float32 number in units of the smallest one."""
    return int(Fraction(float(value)) * 2**SMALLEST)


def nearest_sum(values: Iterable[float]) -> np.float32:
    """The sum of finite float32 numbers, rounded once; of two floats as near, the one with an even last digit."""
    total = sum(map(in_smallest, values))
    beyond = max(abs(total).bit_length() - 24, 0)
    kept, lost = divmod(abs(total), 1 << beyond)
    kept += lost * 2 > 1 << beyond or (lost * 2 == 1 << beyond and kept % 2 == 1)
    with np.errstate(over="ignore"):
        return np.float32(math.copysign(math.ldexp(kept, beyond - SMALLEST), total))
