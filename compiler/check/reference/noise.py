"""Noise of values: how much of a value in float64 may be rounding, estimated from float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.reference.rounding import f32_error_nearby
from slangad.compiler.emit.model import Mode

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.run.companions import Functions

_UNKNOWN_NOISE: Final = 1e-5
_LEAST_NOISE: Final = 1e-9
_SAFETY: Final = 4000.0
_LOST: Final = 0.05


def noise_of(functions: Functions, rows: Floats, values: Floats, seed: int) -> Floats:
    """Return the relative noise of the values at rows, with the safety factor of an error bar.

    Rounding in float32 is 2^29 times coarser. Where float32 has lost all digits, float64 may have lost almost as many.
    """
    f32 = functions.f32
    if f32 is None or Mode.FORWARD not in f32.entries:
        return np.full(values.shape, _UNKNOWN_NOISE)
    outputs = functions.f64.results.differentiable
    with np.errstate(all="ignore"):
        off = np.abs(f32.values(rows)[:, outputs] - values) / np.abs(values)
    off = np.where(np.isfinite(off), off, 1.0)
    nearby = (lambda r: f32.values(r)[:, outputs]), (lambda r: functions.evaluate(r, r))
    off = np.fmax(off, f32_error_nearby(*nearby, rows, values, functions.f64.inputs.differentiable, seed))
    return np.where(off > _LOST, 1.0, np.maximum(_LEAST_NOISE, _SAFETY * off * 2.0**-29))
