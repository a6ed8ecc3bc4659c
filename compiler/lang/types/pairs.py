"""The value of a ``DiffPair``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PairValue:
    """A value and its tangent."""

    p: object
    d: object
