"""Compute the median of known numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats


def known_median(sizes: Floats) -> Floats:
    """Return the median along the first axis of numbers that are not NaN; NaN where all are.

    It does what ``numpy.nanmedian`` does, which is slow for few samples.
    """
    ordered = np.sort(sizes, axis=0)  # NaN comes last
    known = np.count_nonzero(~np.isnan(ordered), axis=0)
    if not len(ordered):
        return np.full(ordered.shape[1:], np.nan)
    low, high = (np.take_along_axis(ordered, at[None], axis=0)[0] for at in (np.maximum(known - 1, 0) // 2, known // 2))
    # where nothing is known both are the first, a NaN
    with np.errstate(all="ignore"):
        return np.asarray(np.where(low == high, low, (low + high) / 2.0))
