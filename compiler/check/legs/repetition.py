"""Compare two runs of the same launch, bit by bit where no threads compute together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.model.outcomes import CheckOutcome
from slangad.compiler.check.run.launch import LaunchRunner
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.findings import Compared
    from slangad.compiler.check.model.functions import RowFunction


def compare_repetition(context: LegContext) -> Compared:
    """Compare the gradients of two runs with the same inputs.

    Threads that compute together in their group run in the opposite order the second time. What they add up to in the
    group's memory then differs by rounding.
    """
    function, rows = context.f64, context.rows
    cotangents = np.zeros((len(rows), len(function.results.columns)))
    cotangents[:, function.results.differentiable] = 1.0
    again: RowFunction = function
    if isinstance(function, LaunchRunner) and function.kernel.in_step:
        again = replace(function, backwards=True)
    first, second = (f.gradients(rows, cotangents)[:, function.inputs.differentiable] for f in (function, again))
    differs = ~((first == second) | (np.isnan(first) & np.isnan(second)))
    message = "two runs with the same inputs give different gradients"
    if isinstance(again, LaunchRunner) and again.backwards:
        message = "the threads of a group in another order give other gradients"
        differs &= abs(first - second) > tol.IN_ANOTHER_ORDER * abs(first).max(axis=1, initial=0.0, keepdims=True)
        differs |= again.depends_on_order(rows)[:, None]
    numbers, certain = Numbers(second, first, np.zeros_like(first)), np.ones(first.shape, bool)
    return replace(
        compared_numbers(Leg.REPEAT, numbers, certain, differs, message), outcome=CheckOutcome.NOT_REPRODUCIBLE
    )
