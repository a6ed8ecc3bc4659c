"""Estimate the noise of values: the part of a float64 value that may be rounding, from float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.rounding import f32_error_nearby
from slangad.compiler.emit.model import Mode

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.run.companions import SubjectFunctions


def noise_of(functions: SubjectFunctions, rows: Floats, values: Floats, seed: int) -> Floats:
    """Return the relative noise of the values at rows, with the safety factor of an error bar.

    Rounding in float32 is 2^29 times coarser. Where float32 has lost all digits, float64 may have lost almost as many.
    """
    f32 = functions.f32
    if f32 is None or Mode.FORWARD not in f32.entries:
        return np.full(values.shape, tol.NOISE_UNKNOWN)
    outputs = functions.f64.results.differentiable
    with np.errstate(all="ignore"):
        off = np.abs(f32.values(rows)[:, outputs] - values) / np.abs(values)
    off = np.where(np.isfinite(off), off, 1.0)
    nearby = (lambda r: f32.values(r)[:, outputs]), (lambda r: functions.evaluate(r, r))
    off = np.fmax(off, f32_error_nearby(*nearby, rows, values, functions.f64.inputs.differentiable, seed))
    return np.where(off > tol.NOISE_LOST, 1.0, np.maximum(tol.NOISE_LEAST, tol.NOISE_SAFETY * off * tol.FINER_F64))
