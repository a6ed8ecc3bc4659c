"""Compare the numbers of a leg, and combine several comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.model.findings import Compared, Wrong
from slangad.compiler.check.model.outcomes import CheckOutcome
from slangad.compiler.report.model import LegResult, LegState

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.report.model import Leg


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers that are compared, and how far apart they may be; arrays of one shape, samples first."""

    actual: Floats
    expected: Floats
    slack: Floats

    def apart(self) -> Bools:
        """Return True for numbers that are too far apart; NaN is."""
        return np.asarray(~(np.abs(self.actual - self.expected) <= self.slack))


def compared_numbers(
    leg: Leg,
    numbers: Numbers,
    certain: Bools,
    wrong: Bools,
    message: str,
    weights: Floats | None = None,
    *,
    by_result: bool = False,
    about_sample: bool = False,
) -> Compared:
    """Return the outcome of a comparison, with the worst of the numbers that are wrong.

    Args:
        leg: The leg.
        numbers: Shape (samples, results, inputs), or (samples, inputs), or (samples, results) if ``by_result``.
        certain: The numbers that count.
        wrong: Those of them that are too far apart.
        message: The message if they disagree.
        weights: Cotangents to show, by sample.
        by_result: The second axis has results.
        about_sample: The second axis has neither.
    """
    with np.errstate(all="ignore"):
        far = np.abs(numbers.actual - numbers.expected) / np.where(numbers.slack > 0, numbers.slack, 1.0)
        far = np.where(certain, far, 0.0)
    far = np.where(np.isnan(far), np.inf, far)
    count = int(certain.sum())
    if not wrong.any():
        state = LegState.AGREES if count else LegState.UNDECIDED
        worst = float(np.where(np.isfinite(far), far, 0.0).max(initial=0.0))
        return Compared(LegResult(leg, state, count, min(worst, 1.0)))
    place = np.unravel_index(int(np.argmax(np.where(wrong, far, -1.0))), wrong.shape)
    index = tuple(int(k) for k in place)
    row, column = (index[1], -1) if by_result else (index[1], index[2]) if len(index) == 3 else (-1, index[1])
    if about_sample:
        row = column = -1
    cotangent = () if weights is None else tuple(float(w) for w in weights[index[0]])
    actual, expected, slack = (float(array[index]) for array in (numbers.actual, numbers.expected, numbers.slack))
    bad = Wrong(index[0], row, column, actual, expected, slack, cotangent)
    return Compared(LegResult(leg, LegState.DISAGREES, count, float(far[index])), CheckOutcome.WRONG, message, bad)


def combine(one: Compared, other: Compared) -> Compared:
    """Return two comparisons of one leg as one: the one that disagrees and shows where, else both counts together."""
    apart = [each for each in (one, other) if each.result.state is LegState.DISAGREES]
    if apart:
        return next((each for each in apart if each.wrong is not None), apart[0])
    kept = one if one.result.state is LegState.AGREES else other
    worst = max(one.result.worst, other.result.worst)
    return replace(kept, result=replace(kept.result, compared=one.result.compared + other.result.compared, worst=worst))
