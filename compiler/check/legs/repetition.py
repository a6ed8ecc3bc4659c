"""Compare two runs of the same launch, bit by bit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.model.outcomes import CheckOutcome
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.findings import Compared


def compare_repetition(context: LegContext) -> Compared:
    """Compare the gradients of two runs with the same inputs."""
    function, rows = context.f64, context.rows
    cotangents = np.zeros((len(rows), len(function.results.columns)))
    cotangents[:, function.results.differentiable] = 1.0
    first, second = (function.gradients(rows, cotangents)[:, function.inputs.differentiable] for _ in range(2))
    differs = ~((first == second) | (np.isnan(first) & np.isnan(second)))
    numbers, certain = Numbers(second, first, np.zeros_like(first)), np.ones(first.shape, bool)
    message = "two runs with the same inputs give different gradients"
    return replace(
        compared_numbers(Leg.REPEAT, numbers, certain, differs, message), outcome=CheckOutcome.NOT_REPRODUCIBLE
    )
