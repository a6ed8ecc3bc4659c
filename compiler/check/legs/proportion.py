"""Cotangents and directions of every size: rows go in, whether derivatives stay in proportion to them comes out.

Derivatives are linear, so those for small or large cotangents are those for usual ones, times the size. Sizes are
powers of two: what is linear then comes out to the last bit, and a threshold or a limit on the way does not.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.legs import both, compared
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Compared, Findings
    from slangad.compiler.check.model.functions import RowFunction


def compare_sizes(
    runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats], findings: Findings, seed: int
) -> Compared:
    """Derivatives for small and large cotangents and directions against those for usual ones."""
    return reduce(both, [one for leg in found for one in _of_mode(runner, rows, leg, findings, seed)])


def _of_mode(runner: RowFunction, rows: Floats, leg: Leg, findings: Findings, seed: int) -> Iterator[Compared]:
    reverse = leg is Leg.REVERSE
    table = runner.results if reverse else runner.inputs
    weights = np.random.default_rng([seed, 5]).normal(size=(len(rows), len(table.differentiable)))
    derivative = _derivative(runner, rows, reverse=reverse)
    taken = np.zeros((len(rows), len(table.columns)))
    taken[:, table.differentiable] = weights
    with np.errstate(all="ignore"):
        usual = derivative(taken)
        slack = tol.PROPORTION_CLOSE * np.max(
            np.abs(np.where(np.isfinite(usual), usual, 0.0)), axis=1, keepdims=True, initial=0.0
        )
        for power in tol.PROPORTION_POWERS:
            size = 2.0**power
            mine, wanted = derivative(size * taken), size * usual
            certain = np.broadcast_to(findings.finite[:, None], mine.shape) & np.isfinite(wanted)
            numbers = mine, wanted, np.broadcast_to(size * slack + tol.UNDERFLOW, mine.shape)
            wrong = certain & ~(np.abs(mine - wanted) <= numbers[2])
            those, these = ("cotangents", "gradients") if reverse else ("directions", "derivatives")
            message = f"{leg.value} mode is not linear: {those} times 2^{power} do not give {these} times 2^{power}"
            shown = size * weights if reverse else None
            yield compared(Leg.TRANSPOSE, numbers, certain, wrong, message, shown, by_result=not reverse)


def _derivative(runner: RowFunction, rows: Floats, *, reverse: bool) -> Callable[[Floats], Floats]:
    """Gradients for cotangents, or tangents for directions, of the differentiable columns."""
    inputs, outputs = runner.inputs.differentiable, runner.results.differentiable
    if reverse:
        return lambda taken: runner.gradients(rows, taken)[:, inputs]
    return lambda taken: runner.tangents(rows, taken)[1][:, outputs]
