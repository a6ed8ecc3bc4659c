"""Compute the tolerance of a Jacobian's entry besides the error bar of the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.check.reference.rounding import median_nearby

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats


def without_clip(entries: Floats, slopes: Floats, limit: float, share: float) -> Floats:
    """Return entries with the slopes in place of those that a clip at ``limit`` explains."""
    with np.errstate(all="ignore"):
        clipped = np.abs(entries - np.copysign(limit, slopes)) <= share * limit
        clipped &= np.abs(slopes) >= limit * (1.0 - share)
    return np.where(clipped, slopes, entries)


def entry_slack(jacobian: Floats, inputs: Floats | None = None, share: float = tol.CONSTANTS) -> Floats:
    """Return the effect of float32 constants, relative to entries and to their usual size.

    Infinite entries get no more than others, since the reference is finite.

    Args:
        jacobian: Shape (samples, results, inputs).
        inputs: Shape (samples, inputs). With them, entries that are large at other inputs only count less.
        share: The relative tolerance.
    """
    with np.errstate(all="ignore"):
        sizes = np.where(np.isfinite(jacobian), np.abs(jacobian), np.nan)
        usual = np.broadcast_to(np.nan_to_num(known_median(sizes)), sizes.shape)
        if inputs is not None:
            usual = np.minimum(usual, tol.FADED * median_nearby(np.where(np.isnan(sizes), usual, sizes), inputs))
    entries = np.where(np.isinf(jacobian), 0.0, np.abs(jacobian))
    return np.asarray(share * entries + tol.USUAL_SHARE * share * usual + tol.UNDERFLOW)
