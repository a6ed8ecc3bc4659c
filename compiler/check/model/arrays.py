"""Types of arrays of numbers, and how many rows of them are in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from collections.abc import Iterator

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int64]


def rows_at_once(width: int) -> int:
    """Return the number of rows of some width that are evaluated in one call."""
    return max(1, tol.NUMBERS_AT_ONCE // max(1, width))


def stretches_of_rows(count: int, width: int) -> Iterator[slice]:
    """Yield stretches that cover ``count`` rows, each with as many rows of some width as fit in memory at a time."""
    step = rows_at_once(width)
    yield from (slice(start, min(count, start + step)) for start in range(0, max(count, 1), step))


def weighted(values: Floats, weights: Floats) -> Floats:
    """Return values times weights, added over the last axis of both; several rows of weights become the last axis.

    The order of the sum is the same on every processor. A linear-algebra library's is not.
    """
    return np.asarray(np.einsum("...n,n->..." if weights.ndim == 1 else "...n,mn->...m", values, weights), np.float64)
