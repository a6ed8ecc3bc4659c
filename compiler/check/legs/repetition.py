"""Compare two runs of the same launch, bit by bit where no threads compute together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.comparison import Numbers, combine, compared_numbers
from slangad.compiler.check.legs.orders import compare_orders
from slangad.compiler.check.model.outcomes import CheckOutcome
from slangad.compiler.check.run.launch import LaunchRunner, order_differences
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.findings import Compared
    from slangad.compiler.check.model.functions import RowFunction


def compare_repetition(context: LegContext) -> Compared:
    """Compare the gradients of two runs with the same inputs.

    Threads that compute together in their group run in the opposite order the second time. What they add up to in the
    group's memory then differs by rounding. They also run over domains that fill groups.
    """
    launches, reverse = context.companions.launches, Leg.REVERSE in context.jacobians
    if launches is None or not launches.group:
        return _repeated(context)
    whole = compare_orders(launches, context.plan, None, gradients=reverse)
    return combine(_repeated(context), whole) if reverse else whole


def _repeated(context: LegContext) -> Compared:
    """Compare the gradients of two runs at the samples."""
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
        differs = order_differences(first, second, tol.ORDER_LEAST) | again.depends_on_order(rows)[:, None]
    numbers, certain = Numbers(second, first, np.zeros_like(first)), np.ones(first.shape, bool)
    return replace(
        compared_numbers(Leg.REPEAT, numbers, certain, differs, message), outcome=CheckOutcome.NOT_REPRODUCIBLE
    )
