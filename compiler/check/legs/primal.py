"""Compare the values that forward mode computes with those of the function alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.build.undefined_values import UNSTORED
from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.check.reference.rounding import spread_by_inputs
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.findings import Compared
    from slangad.compiler.check.model.functions import RowFunction


def compare_primal(context: LegContext) -> Compared:
    """Compare the values that forward mode computes with those of the function alone."""
    function, rows, findings = context.f64, context.rows, context.findings
    results, inputs = function.results.differentiable, function.inputs.differentiable
    rng = np.random.default_rng([context.seed, 2])
    directions = np.zeros((len(rows), len(function.inputs.columns)))
    directions[:, inputs] = rng.normal(size=(len(rows), len(inputs)))
    with np.errstate(all="ignore"):
        actual = function.tangents(rows, directions)[0][:, results]
        alone = function.values(rows)[:, results]
        slack = tol.LEG_ROUNDING * spread_by_inputs(
            lambda near: function.values(near)[:, results], rows, alone, inputs, tol.ULP64, rng
        )
        slack += tol.PRIMAL_CLOSE * np.maximum(np.abs(alone), known_median(np.abs(alone))) + tol.UNDERFLOW
        numbers = Numbers(actual, alone, slack)
        certain = np.broadcast_to(findings.guarded[:, None] & ~findings.jumps[:, None], alone.shape)
        wrong = certain & numbers.apart()
        if wrong.any():
            wrong &= ~_without_value(function, rows, alone)
    message = "forward mode computes another value than the function alone"
    return compared_numbers(Leg.PRIMAL, numbers, certain, wrong, message, by_result=True)


def _without_value(function: RowFunction, rows: Floats, alone: Floats) -> Bools:
    """Return True for results that the function leaves without a value: a fill, or what the samples before left."""
    reversed_order = function.values(rows[::-1])[::-1][:, function.results.differentiable]
    return np.asarray((alone == UNSTORED) | ~((reversed_order == alone) | (np.isnan(reversed_order) & np.isnan(alone))))
