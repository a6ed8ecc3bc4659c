"""The median of what is known: numpy's ``nanmedian``, which goes through masked arrays where samples are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats


def known_median(sizes: Floats) -> Floats:
    """The median along the first axis of what is not ``NaN``; ``NaN`` where nothing is known."""
    ordered = np.sort(sizes, axis=0)  # NaN comes last
    known = np.count_nonzero(~np.isnan(ordered), axis=0)
    if not len(ordered):
        return np.full(ordered.shape[1:], np.nan)
    low, high = (np.take_along_axis(ordered, at[None], axis=0)[0] for at in (np.maximum(known - 1, 0) // 2, known // 2))
    # where nothing is known both are the first, a NaN
    with np.errstate(all="ignore"):
        return np.asarray(np.where(low == high, low, (low + high) / 2.0))
