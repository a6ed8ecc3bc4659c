"""Compare gradients that several threads accumulate in memory with those of one thread.

The CPU runs threads one after the other. Twins of a Slang function run several with the same inputs:

- Two threads. The second does not see plain stores of the first, as if both ran at once. So a plain addition counts
  once, an atomic one twice. If a condition chooses between plain and atomic additions, the threads run one after the
  other. Then a store that replaces what is there counts once.
- The lanes of a wave, if the derivative has operations of waves. Together they must add what each would add alone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.model.findings import Compared
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement
from slangad.compiler.check.twins.one_lane import LANES_OF_WAVE
from slangad.compiler.report.model import Leg, LegResult, LegState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.functions import RowFunction

_LOST: Final = "threads lose each other's additions to '{}', the gradient of '{}'"
_NOT_ATOMIC: Final = (
    "a plain store or += is not atomic: add with InterlockedAdd or Atomic<float>; "
    "if only one thread adds to an element, write '// check: single thread' above the function"
)
_REPLACED: Final = "'{}', the gradient of '{}', keeps what one thread adds and loses what was there before"
_NO_ADDITION: Final = "a store replaces the gradient where it isn't atomic: add with +="
_WAVE: Final = f"a wave of {LANES_OF_WAVE} lanes adds a wrong gradient to '{{}}', the gradient of '{{}}'"
_FORGOTTEN: Final = "the gradients of the other lanes are missing: the lane that adds must add WaveActiveSum of them"
_REPEATED: Final = "lanes add a sum over the wave more than once: let one lane add it, as in 'if (WaveIsFirstLane())'"
_OF_LANE: Final = f"the gradient of '{{}}' changes if a wave has {LANES_OF_WAVE} lanes"
_JOINED: Final = "it must be that of one lane, or the sum over the wave if all lanes share this input"
_SHARED: Final = "the gradient of '{}' is a sum over the wave: it is right only if all lanes share this input"
_NOTHING: Final = "nothing finite to add up"
_LANES: Final = float(LANES_OF_WAVE)
_ORDER: Final = (LegState.DISAGREES, LegState.UNDECIDED, LegState.AGREES)
"""States of the leg, the one that counts first."""


def compare_memory(context: LegContext) -> Compared:
    """Compare the gradients of two threads, and those of the lanes of a wave, with gradients of one thread."""
    memory, active = context.plan.subject.memory, context.plan.subject.active_memory
    racing, waving = context.companions.racing, context.companions.waving
    every = context.f64.inputs.differentiable
    compared: list[Compared] = []
    if racing is not None and not context.plan.subject.directives.single_thread:
        columns = [k for k in every if _owner(context, k) in memory]
        compared.append(_compare(context, racing, columns, np.full(len(columns), 2.0), "two threads"))
    if waving is not None:
        summed = [k for k in every if _owner(context, k) in active]
        if summed:
            compared.append(_compare(context, waving, summed, np.full(len(summed), _LANES), "a wave"))
        compared += (_of_lane(context, waving, k) for k in every if k not in summed)
    nothing = Compared(LegResult(Leg.ACCUMULATION, LegState.UNDECIDED, detail=_NOTHING))
    return min(compared, key=lambda one: (_ORDER.index(one.result.state), -one.result.compared), default=nothing)


def _of_lane(context: LegContext, waving: RowFunction, column: int) -> Compared:
    """Compare the gradient of a parameter in the last lane of a wave.

    It is that of a single lane if each lane has the input for itself. If all lanes share it, the gradient may be the
    sum over the wave, in all lanes or in the first one. The text does not say which is meant.
    """
    alone, *shared = (
        partial(_compare, context, waving, [column], np.full(1, factor), "a wave") for factor in (1.0, _LANES, 0.0)
    )
    compared = alone()
    if compared.failure is None or all(one().failure is not None for one in shared):
        return compared
    detail = _SHARED.format(_owner(context, column))
    return Compared(LegResult(Leg.ACCUMULATION, LegState.UNDECIDED, detail=detail), is_noted=True)


def _compare(
    context: LegContext, several: RowFunction, columns: Sequence[int], factors: Floats, detail: str
) -> Compared:
    """Compare gradients of several threads with some times those of one.

    Args:
        context: The subject at its samples.
        several: The twin.
        columns: The inputs to compare.
        factors: By input, how many times the gradient of one thread is right.
        detail: The kind of the threads.
    """
    function, rows = context.f64, context.rows
    cotangents = np.zeros((len(rows), len(function.results.columns)))
    cotangents[:, function.results.differentiable] = 1.0
    expected = factors * function.gradients(rows, cotangents)[:, columns]
    actual = several.gradients(rows, cotangents)[:, columns]
    certain = np.isfinite(expected)
    slack = (
        tol.MEMORY_CLOSE * np.where(certain, np.abs(expected), 0.0).max(axis=1, initial=0.0)[:, None] + tol.UNDERFLOW
    )
    far = np.where(certain, np.abs(actual - expected) / slack, 0.0)
    count, worst = int(certain.sum()), float(np.nan_to_num(far, nan=np.inf).max(initial=0.0))
    if not count:
        return Compared(LegResult(Leg.ACCUMULATION, LegState.UNDECIDED, detail=_NOTHING))
    if worst <= 1.0:
        return Compared(LegResult(Leg.ACCUMULATION, LegState.AGREES, count, worst))
    row, column = (int(k) for k in np.unravel_index(int(np.nan_to_num(far, nan=np.inf).argmax()), far.shape))
    wanted, found = float(expected[row, column]), float(actual[row, column])
    message, cause = _words(context, several, _owner(context, columns[column]), missing=abs(found) < abs(wanted))
    failure = Disagreement(
        Leg.ACCUMULATION,
        CheckOutcome.WRONG,
        message,
        column=function.inputs.columns[columns[column]].path,
        expected=wanted,
        error=float(slack[row, 0]),
        found=found,
        cause=cause,
    )
    result = LegResult(Leg.ACCUMULATION, LegState.DISAGREES, count, worst, detail)
    return Compared(result, CheckOutcome.WRONG, message, failure=failure)


def _words(context: LegContext, several: RowFunction, owner: str, *, missing: bool) -> tuple[str, str]:
    """Return the message and the cause of a wrong gradient of an input; ``missing`` if it is too small."""
    memory = context.plan.subject.memory.get(owner, owner)
    if several is context.companions.racing and context.plan.subject.in_turn:
        return _REPLACED.format(memory, owner), _NO_ADDITION
    if several is context.companions.racing:
        return _LOST.format(memory, owner), _NOT_ATOMIC
    if owner in context.plan.subject.active_memory:
        return _WAVE.format(memory, owner), _FORGOTTEN if missing else _REPEATED
    return _OF_LANE.format(owner), _JOINED


def _owner(context: LegContext, column: int) -> str:
    return owner_of(context.f64.inputs.columns[column].path)
