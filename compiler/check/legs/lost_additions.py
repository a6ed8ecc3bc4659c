"""Compare gradients that two threads accumulate in memory with those of one thread.

The CPU runs threads one after the other. A twin of a Slang function runs two threads with the same inputs, and the
second does not see plain stores of the first, as if both ran at once. So a plain addition counts once, an atomic one
twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.model.findings import Compared
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement
from slangad.compiler.report.model import Leg, LegResult, LegState

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext

_MESSAGE: Final = "threads lose each other's additions to '{}', the gradient of '{}'"
_CAUSE: Final = (
    "a plain store or += is not atomic: add with InterlockedAdd or Atomic<float>; "
    "if only one thread adds to an element, write '// check: single thread' above the function"
)


def compare_two_threads(context: LegContext) -> Compared:
    """Compare the gradients of two threads with twice those of one."""
    function, racing, rows = context.f64, context.companions.racing, context.rows
    assert racing is not None  # noqa: S101  (the table asks)
    columns = [k for k in function.inputs.differentiable if _owner(context, k) in context.plan.subject.memory]
    cotangents = np.zeros((len(rows), len(function.results.columns)))
    cotangents[:, function.results.differentiable] = 1.0
    expected = 2.0 * function.gradients(rows, cotangents)[:, columns]
    actual = racing.gradients(rows, cotangents)[:, columns]
    certain = np.isfinite(expected)
    slack = (
        tol.MEMORY_CLOSE * np.where(certain, np.abs(expected), 0.0).max(axis=1, initial=0.0)[:, None] + tol.UNDERFLOW
    )
    far = np.where(certain, np.abs(actual - expected) / slack, 0.0)
    count, worst = int(certain.sum()), float(np.nan_to_num(far, nan=np.inf).max(initial=0.0))
    if not count:
        return Compared(LegResult(Leg.ACCUMULATION, LegState.UNDECIDED, detail="nothing finite to add up"))
    if worst <= 1.0:
        return Compared(LegResult(Leg.ACCUMULATION, LegState.AGREES, count, worst))
    row, column = np.unravel_index(int(np.nan_to_num(far, nan=np.inf).argmax()), far.shape)
    path, owner = function.inputs.columns[columns[column]].path, _owner(context, columns[column])
    message = _MESSAGE.format(context.plan.subject.memory[owner], owner)
    failure = Disagreement(
        Leg.ACCUMULATION,
        CheckOutcome.WRONG,
        message,
        column=path,
        expected=float(expected[row, column]),
        error=float(slack[row, 0]),
        found=float(actual[row, column]),
        cause=_CAUSE,
    )
    result = LegResult(Leg.ACCUMULATION, LegState.DISAGREES, count, worst, "two threads")
    return Compared(result, CheckOutcome.WRONG, message, failure=failure)


def _owner(context: LegContext, column: int) -> str:
    return owner_of(context.f64.inputs.columns[column].path)
