"""The distributions of values that a training draws."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Uniform:
    """Numbers from ``low`` to ``high``, all equally likely; a constant if the two are equal."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Normal:
    """Numbers of a normal distribution with mean 0 and a standard deviation."""

    deviation: float


Distribution = Uniform | Normal
