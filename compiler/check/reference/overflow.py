"""Samples at which derivatives overflow on their way, which say nothing: there they are told from infinite ones.

What is 1e306 on the way to a result isn't finite times 2^20, however linear the derivative is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import State
from slangad.compiler.check.run.thread import jacobian_by_columns, jacobian_by_rows
from slangad.compiler.report.model import Leg, LegState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Compared, Findings
    from slangad.compiler.check.model.functions import RowFunction

    Compare = Callable[[RowFunction, Floats, Mapping[Leg, Floats], Findings, int], Compared]


def but_for_overflow(
    compare: Compare, runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats], findings: Findings, seed: int
) -> Compared:
    """A comparison by large or random cotangents or directions, at the samples where such don't overflow."""
    told = compare(runner, rows, found, findings, seed)
    if told.result.state is not LegState.DISAGREES:
        return told
    over = findings.finite & _overflow(runner, rows, found)
    if not over.any() or over.sum() > tol.OVERFLOW_SHARE * findings.finite.sum():
        return told
    states = {leg: np.where(over[:, None, None], State.UNDECIDED, own) for leg, own in findings.states.items()}
    return compare(runner, rows, found, replace(findings, finite=findings.finite & ~over, states=states), seed)


def overflows(runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats]) -> npt.NDArray[np.bool_]:
    """The samples at which a derivative is infinite, but finite for small cotangents or directions."""
    over = np.zeros(len(rows), bool)
    for leg, own in found.items():
        some = np.flatnonzero(np.isinf(own).any(axis=(1, 2)))
        if len(some):
            small = _in_size(runner, rows[some], leg, own, tol.OVERFLOW_SMALL)
            over[some] |= (np.isinf(own[some]) & np.isfinite(small)).any(axis=(1, 2))
    return over


def _overflow(runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats]) -> npt.NDArray[np.bool_]:
    """The samples at which derivatives for large cotangents or directions are not finite."""
    over = np.zeros(len(rows), bool)
    for leg, own in found.items():
        over |= ~np.isfinite(_in_size(runner, rows, leg, own, tol.OVERFLOW_LARGE)).all(axis=(1, 2))
    return over


def _in_size(runner: RowFunction, rows: Floats, leg: Leg, like: Floats, size: float) -> Floats:
    """A mode's Jacobians by cotangents or directions of a size."""
    reverse = leg is Leg.REVERSE
    sizes = np.full((len(rows), like.shape[1 if reverse else 2]), size)
    with np.errstate(all="ignore"):
        return (jacobian_by_rows if reverse else jacobian_by_columns)(runner, rows, sizes)
