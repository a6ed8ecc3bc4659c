"""Compare derivatives for small and large cotangents and directions with those for usual ones.

Derivatives are linear, so they grow with the size. Sizes are powers of two, so a linear function agrees to the last
bit. A function with a threshold or a limit does not.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.comparison import Numbers, combine, compared_numbers
from slangad.compiler.check.run.derivative import ModeDerivative
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.findings import Compared


def compare_proportion(context: LegContext) -> Compared:
    """Compare the derivatives of every mode."""
    return reduce(combine, [one for mode in context.jacobians for one in _of_mode(context, mode)])


def _of_mode(context: LegContext, mode: Leg) -> Iterator[Compared]:
    derivative, rows = ModeDerivative(context.f64, mode), context.rows
    reverse = derivative.is_reverse
    rng = np.random.default_rng([context.seed, 5])
    weights = rng.normal(size=(len(rows), len(derivative.weighted.differentiable)))
    all_weights = derivative.all_columns(weights)
    with np.errstate(all="ignore"):
        usual = derivative.along(rows, all_weights)
        largest = np.max(np.abs(np.where(np.isfinite(usual), usual, 0.0)), axis=1, keepdims=True, initial=0.0)
        slack = tol.PROPORTION_CLOSE * largest
        for power in tol.PROPORTION_POWERS:
            size = 2.0**power
            actual, expected = derivative.along(rows, size * all_weights), size * usual
            certain = np.broadcast_to(context.findings.finite[:, None], actual.shape) & np.isfinite(expected)
            numbers = Numbers(actual, expected, np.broadcast_to(size * slack + tol.UNDERFLOW, actual.shape))
            those, these = ("cotangents", "gradients") if reverse else ("directions", "derivatives")
            message = f"{mode.value} mode is not linear: {those} times 2^{power} do not give {these} times 2^{power}"
            shown = size * weights if reverse else None
            wrong = certain & numbers.apart()
            yield compared_numbers(Leg.TRANSPOSE, numbers, certain, wrong, message, shown, by_result=not reverse)
