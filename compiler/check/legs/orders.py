"""Compare launches whose groups run their threads in opposite orders, and find races in the memory that groups share.

The domain has whole groups and partly filled ones, so threads that are far apart meet too. A right kernel computes the
same in both orders. A race may also give the same in both, as ``row[0] += x`` does; a twin that records accesses finds
it. Where two threads only store, the values decide: both may store the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import Compared
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement
from slangad.compiler.check.run.launch import order_differences
from slangad.compiler.check.sampling.samples import draw_random, intervals_of, keep_apart
from slangad.compiler.check.sampling.shapes import show
from slangad.compiler.check.verdict.explain.races import cause_of
from slangad.compiler.report.model import Leg, LegResult, LegState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.run.companions import Launches
    from slangad.compiler.check.run.launch import LaunchRunner
    from slangad.compiler.check.twins.group_accesses import GroupRace

    Shape = tuple[int, ...]


def compare_orders(launches: Launches, plan: SubjectPlan, own: Extents | None, *, gradients: bool) -> Compared:
    """Compare both orders of the threads of a group over a domain that fills groups.

    Args:
        launches: The kernel at any size.
        plan: The plan of its check.
        own: The size to use if no size that fills a group fits; None if it has been compared already.
        gradients: True if gradients by reverse mode are compared, besides values.
    """
    reason = ""
    for extents in (*(launches.extents(domain) for domain in _domains(launches.group)), own):
        if extents is None or isinstance(extents, str):
            reason = extents or reason
            continue
        rows = _rows(launches, extents, plan)
        if len(rows):
            return _Orders(launches, extents, rows, plan.seed).compare(gradients=gradients)
        reason = f"no samples over {show(extents.domain)} threads, where all indices are in bounds"
    return Compared(LegResult(Leg.REPEAT, LegState.UNDECIDED, detail=reason))


def _domains(group: Shape) -> Iterator[Shape]:
    """Yield a domain with a whole group and partly filled ones along every axis, then smaller ones."""
    more = tuple(extent + (2 * extent + 2) // 3 for extent in group)
    if math.prod(more) <= tol.ORDER_THREADS:
        yield more
    yield (*group[:-1], more[-1])
    yield group


def _rows(launches: Launches, extents: Extents, plan: SubjectPlan) -> Floats:
    """Return samples at which all indices are in bounds, finite or not."""
    columns = launches.f64(extents).inputs.columns
    rows = draw_random(columns, plan.ranges, tol.ORDER_ROWS, plan.seed, f"orders {extents.domain}", plan.integers)
    rng = np.random.default_rng([plan.seed, 16])
    if not keep_apart(rows, columns, intervals_of(columns, plan.ranges), plan.integers, rng):
        return rows[:0]
    return rows if launches.inside is None else rows[launches.inside(extents).inside(rows)]


@dataclass(frozen=True, slots=True)
class _Orders:
    """Launches of one size in both orders."""

    launches: Launches
    extents: Extents
    rows: Floats
    seed: int

    def compare(self, *, gradients: bool) -> Compared:
        """Compare values and, if asked, gradients; then look at recorded accesses."""
        f64 = self.launches.f64(self.extents)
        other = replace(f64, backwards=True)
        race = self._race()
        with np.errstate(all="ignore"):
            first, second = f64.values(self.rows), other.values(self.rows)
            differs, count = order_differences(first, second), first.size
            if differs.any():
                return self._differing("values", first, second, differs, f64, race)
            if gradients:
                first, second = self._gradients(f64), self._gradients(other)
                differs = order_differences(first, second, tol.ORDER_LEAST)
                count += first.size
                if differs.any():
                    return self._differing("gradients", first, second, differs, f64, race)
        if race is not None and not race.both_store:
            message = "threads of a group store to an element of Shared memory and read it at the same time"
            failure = Disagreement(Leg.REPEAT, CheckOutcome.NOT_REPRODUCIBLE, message, cause=cause_of(race))
            return _failed(failure, count)
        return Compared(LegResult(Leg.REPEAT, LegState.AGREES, count))

    def _race(self) -> GroupRace | None:
        """Return a recorded race; one of a store with a read comes first."""
        if self.launches.recording is None:
            return None
        races = [*self.launches.recording(self.extents).races(self.rows)]
        return min(races, key=lambda race: race.both_store, default=None)

    def _gradients(self, runner: LaunchRunner) -> Floats:
        """Return gradients for random cotangents: with equal ones, terms may cancel out."""
        weights = np.zeros((len(self.rows), len(runner.results.columns)))
        results = runner.results.differentiable
        weights[:, results] = np.random.default_rng([self.seed, 17]).normal(size=(len(self.rows), len(results)))
        return runner.gradients(self.rows, weights)[:, runner.inputs.differentiable]

    def _differing(
        self,
        what: str,
        first: Floats,
        second: Floats,
        differs: Bools,
        runner: LaunchRunner,
        race: GroupRace | None,
    ) -> Compared:
        """Return the outcome where two orders differ, with the first number that does."""
        row, place = (int(k) for k in np.argwhere(differs)[0])
        of_values, inputs = what == "values", runner.inputs
        path = (runner.results.columns[place] if of_values else inputs.columns[inputs.differentiable[place]]).path
        return _failed(
            Disagreement(
                Leg.REPEAT,
                CheckOutcome.NOT_REPRODUCIBLE,
                f"the threads of a group in another order give other {what} over {show(self.extents.domain)} threads",
                row=path if of_values else "",
                column="" if of_values else path,
                expected=float(first[row, place]),
                found=float(second[row, place]),
                cause=cause_of(race),
            ),
            first.size,
        )


def _failed(failure: Disagreement, count: int) -> Compared:
    return Compared(LegResult(Leg.REPEAT, LegState.DISAGREES, count), failure.outcome, failure.message, failure=failure)
