"""Compute a function, its derivative and its slope along one input at a time: the data of a report's pictures.

The slopes are differences of values on each side, so they need no derivative of the program. No verdict depends on
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.run.derivative import ModeDerivative
from slangad.compiler.report.model import NoteKind, SampleState, Slice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.sampling.in_range import CheckScope
    from slangad.compiler.report.model import Result, Sample


class _Entry(NamedTuple):
    """A place in the Jacobian: positions among the differentiable results and inputs."""

    row: int
    column: int


def slices_of(scope: CheckScope, result: Result) -> tuple[Slice, ...]:
    """Return slices through the worst sample of a result, or through a kink or a random sample of a right one."""
    base = _base_of(result)
    if base is None or base.jacobian is None or not base.jacobian.rows:
        return ()
    work = scope.effort.work * tol.SLICE_POINTS * tol.WORK_SLICE
    affordable = int(tol.WORK_MOST / work) if work else tol.SLICES
    entries = list(dict.fromkeys(_entries(scope, result, base)))[: min(tol.SLICES, affordable)]
    drawn = np.array([[float(one.value) for one in sample.inputs] for sample in result.samples])
    row = np.array([float(one.value) for one in base.inputs])
    return tuple(_slice(scope, base, entry, row, drawn) for entry in entries)


def _base_of(result: Result) -> Sample | None:
    """Return the sample of the first failure, the first kink, or the first random sample that was compared."""
    failing = (failure.sample for failure in result.failures if failure.sample is not None)
    kinks = {note.sample for note in result.notes if note.kind is NoteKind.KINK and note.sample is not None}
    good = [sample for sample in result.samples if sample.state is SampleState.COMPARED]
    compared = sorted(good, key=lambda sample: sample.origin != "random")
    at_kinks = (sample for sample in result.samples if sample.number in kinks)
    return next((sample for group in (failing, at_kinks, compared) for sample in group), None)


def _entries(scope: CheckScope, result: Result, base: Sample) -> Iterator[_Entry]:
    """Yield the failing entries; then, of each value that is an input, the entry with the largest derivative."""
    jacobian = base.jacobian
    assert jacobian is not None  # noqa: S101  (asked for by the caller)
    for failure in result.failures:
        if failure.row in jacobian.rows and failure.column in jacobian.columns:
            yield _Entry(jacobian.rows.index(failure.row), jacobian.columns.index(failure.column))
    inputs = scope.functions.f64.inputs
    sizes = np.nan_to_num(np.abs(np.array(jacobian.found)), nan=-1.0, posinf=-1.0)
    groups: dict[str, list[int]] = {}
    for position, column in enumerate(inputs.differentiable):
        groups.setdefault(inputs.columns[column].group or inputs.columns[column].path, []).append(position)
    for positions in groups.values():
        row, best = np.unravel_index(int(sizes[:, positions].argmax()), (len(sizes), len(positions)))
        yield _Entry(int(row), positions[int(best)])


def _slice(scope: CheckScope, base: Sample, entry: _Entry, row: Floats, drawn: Floats) -> Slice:
    functions = scope.functions
    column = functions.f64.inputs.differentiable[entry.column]
    positions = _positions(drawn[:, column], row[column])
    rows = np.repeat(row[None], len(positions), axis=0)
    rows[:, column] = positions
    step = (positions[-1] - positions[0]) * tol.SLICE_STEP
    jacobian = base.jacobian
    assert jacobian is not None  # noqa: S101  (asked for by the caller)

    def values(offset: int) -> Floats:
        moved = rows.copy()
        moved[:, column] += offset * step
        kept = np.flatnonzero(functions.inside(moved))
        results = np.full(len(rows), np.nan)
        results[kept] = functions.evaluate(moved[kept], rows[kept])[:, entry.row]
        return results

    with np.errstate(all="ignore"):
        here = values(0)
        below = (3 * here - 4 * values(-1) + values(-2)) / (2 * step)
        above = (4 * values(1) - 3 * here - values(2)) / (2 * step)
        found = _derivative(scope, rows, entry)
    numbers = (tuple(array.tolist()) for array in (positions, here, found, below, above))
    return Slice(jacobian.rows[entry.row], jacobian.columns[entry.column], base.number, float(row[column]), *numbers)


def _positions(drawn: Floats, at: float) -> Floats:
    """Return positions over the range of the samples; the sample's own position is among them, close between two."""
    drawn = np.append(drawn[np.isfinite(drawn)], at)
    low, high = float(drawn.min()), float(drawn.max())
    if low == high:
        low, high = low - 1.0, high + 1.0
    near = (high - low) * tol.SLICE_STEP * 4
    close = np.clip([at - near, at, at + near], low, high)
    return np.unique(np.append(np.linspace(low, high, tol.SLICE_POINTS), close))


def _derivative(scope: CheckScope, rows: Floats, entry: _Entry) -> Floats:
    """Return the derivative under test at rows, in the first mode that the function has."""
    derivative = ModeDerivative(scope.functions.f64, scope.legs[0])
    columns = derivative.weighted.differentiable
    weights = np.zeros((len(rows), len(derivative.weighted.columns)))
    weights[:, columns[entry.row if derivative.is_reverse else entry.column]] = 1.0
    kept = np.flatnonzero(scope.functions.inside(rows))
    found = np.full(len(rows), np.nan)
    position = entry.column if derivative.is_reverse else entry.row
    found[kept] = derivative.along(rows[kept], weights[kept])[:, position]
    return found
