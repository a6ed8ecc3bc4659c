"""Find samples at which intermediate values of derivatives overflow. These samples show nothing.

A term of 1e306 on the way to a result is not finite times 2^20, however linear the derivative is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.run.derivative import ModeDerivative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.report.model import Leg


def overflows(function: RowFunction, rows: Floats, jacobians: Mapping[Leg, Floats]) -> Bools:
    """Return True for samples at which a derivative is infinite, but finite for small cotangents or directions."""
    over = np.zeros(len(rows), bool)
    for mode, jacobian in jacobians.items():
        some = np.flatnonzero(np.isinf(jacobian).any(axis=(1, 2)))
        if len(some):
            small = _for_size(ModeDerivative(function, mode), rows[some], tol.OVERFLOW_SMALL)
            over[some] |= (np.isinf(jacobian[some]) & np.isfinite(small)).any(axis=(1, 2))
    return over


def overflows_if_large(function: RowFunction, rows: Floats, jacobians: Mapping[Leg, Floats]) -> Bools:
    """Return True for samples at which derivatives for large cotangents or directions are not finite."""
    over = np.zeros(len(rows), bool)
    for mode in jacobians:
        large = _for_size(ModeDerivative(function, mode), rows, tol.OVERFLOW_LARGE)
        over |= ~np.isfinite(large).all(axis=(1, 2))
    return over


def _for_size(derivative: ModeDerivative, rows: Floats, size: float) -> Floats:
    """Return Jacobians by cotangents or directions of a size."""
    with np.errstate(all="ignore"):
        return derivative(rows, np.full((len(rows), len(derivative.weighted.differentiable)), size))
