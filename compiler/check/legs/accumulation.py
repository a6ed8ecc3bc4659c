"""Compare sums over threads: launches of several sizes against the sums of their threads.

Gradient buffers start non-zero, indices collide, and sums have several parts. Where threads share no tensors, the
expected sum is that of the threads by themselves. Where they share some, reverse mode along random directions is
compared with forward mode, whose sums have one part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.budget import budget
from slangad.compiler.check.model.findings import Compared
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement
from slangad.compiler.check.reference.rounding import spread_by_inputs, spread_by_weights
from slangad.compiler.check.run.filtering import filter_allowance
from slangad.compiler.check.run.launch import LaunchRunner, Sums
from slangad.compiler.check.run.on_device import LaunchOnDevice
from slangad.compiler.check.run.thread_sums import ThreadSums
from slangad.compiler.check.sampling.samples import draw_random, intervals_of, keep_apart
from slangad.compiler.check.sampling.scouts import slopes_along
from slangad.compiler.check.sampling.shapes import show
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.report.model import Leg, LegResult, LegState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.run.companions import Launches
    from slangad.compiler.ir.nodes import Range

    Shape = tuple[int, ...]

_PLAIN: Final = Sums(1, 1, 0.0)
"""One part, into empty buffers."""
_GRADIENT: Final = "the gradient of "
_IN_FLOAT32: Final = " in float32"


@dataclass(frozen=True, slots=True)
class ComparedSum:
    """One sum, of a result or a gradient over some number of threads, and what it should be.

    Attributes:
        name: The result, or the gradient of a parameter, in words.
        domain: The threads.
        slack: The largest allowed error.
        size: The sum of magnitudes.
        f32: True if it is in float32.
        repeated: True if both numbers are of launches with the same inputs.
    """

    name: str
    domain: Shape
    actual: float
    expected: float
    slack: float
    size: float
    f32: bool = False
    repeated: bool = False

    @property
    def distance(self) -> float:
        """Return the error of the sum, in units of the slack."""
        gap = abs(self.actual - self.expected)
        return float("inf") if np.isnan(gap) else gap / max(self.slack, tol.UNDERFLOW)

    @property
    def overflows(self) -> bool:
        """Return True if it is not finite in float32 only; such a sum shows nothing about additions."""
        return self.f32 and not np.isfinite(self.actual)


def compare_accumulation(context: LegContext) -> Compared:
    """Compare sums of results and gradients over several numbers of threads."""
    launches = context.companions.launches
    assert launches is not None  # noqa: S101  (the table asks)
    linear = context.plan.linear and Leg.FORWARD in context.jacobians
    compared: list[ComparedSum] = []
    reason = ""
    sizes = list(zip(tol.SUM_SIZES[launches.dims], tol.SUM_SETTINGS, strict=True))
    left_out: list[Shape] = []
    each = 0.0
    for number, (domain, setting) in enumerate(sizes):
        if number >= tol.SUM_SIZES_LEAST and each * math.prod(domain) > tol.SUM_TIME:
            left_out.append(domain)
            continue
        begun = budget().spent
        extents = launches.extents(domain)
        if isinstance(extents, str):
            reason = extents
            continue
        size = _LaunchSize(launches, extents, Sums(*setting), context.plan.ranges, context.seed, linear=linear)
        compared += size.compare()
        each = (budget().spent - begun) / math.prod(domain)
    if not compared:
        return Compared(LegResult(Leg.ACCUMULATION, LegState.UNDECIDED, detail=reason or "nothing finite to add up"))
    worst = max(compared, key=lambda one: (one.distance > 1.0 and not one.overflows, one.distance))
    if worst.distance <= 1.0:
        detail = _left_out([math.prod(domain) for domain in left_out])
        result = LegResult(Leg.ACCUMULATION, LegState.AGREES, len(compared), worst.distance, detail)
        return Compared(result, is_noted=bool(detail))
    return _wrong(worst, len(compared))


def _left_out(sizes: Sequence[int]) -> str:
    """Return the sentence on sizes that take too long; empty if there are none."""
    threads = " and ".join(str(size) for size in sizes)
    return f"sums over {threads} threads are not compared, since each thread takes long" if sizes else ""


def _wrong(worst: ComparedSum, count: int) -> Compared:
    """Return the outcome for the worst of some sums."""
    close = worst.f32 and abs(worst.actual - worst.expected) <= tol.SUM_COARSE * worst.size
    coarse = not worst.overflows and not close
    outcome = CheckOutcome.WRONG if coarse else CheckOutcome.IMPRECISE
    threads, name = show(worst.domain), worst.name + (_IN_FLOAT32 if worst.f32 else "")
    message = f"{name} over {threads} threads is not the sum of the values of its threads"
    cause = "an addition is missing or done twice, or the earlier value of the buffer is lost" if coarse else ""
    if worst.overflows:
        message = f"{name} over {threads} threads is not finite, and in float64 it is"
        cause = "a value is too large for float32, or a divisor too small: declare ranges if that never happens"
    if worst.repeated:
        outcome, cause = CheckOutcome.NOT_REPRODUCIBLE, "threads that write to the same place at the same time"
        message = f"two launches over {threads} threads with the same inputs differ in {name}"
    failure = Disagreement(
        Leg.ACCUMULATION,
        outcome,
        message,
        column=worst.name.removeprefix(_GRADIENT),
        expected=worst.expected,
        error=worst.slack,
        found=worst.actual,
        cause=cause,
    )
    result = LegResult(Leg.ACCUMULATION, LegState.DISAGREES, count, worst.distance, threads)
    return Compared(result, outcome, message, failure=failure)


@dataclass(frozen=True, slots=True)
class _LaunchSize:
    """Launches of one size."""

    launches: Launches
    extents: Extents
    sums: Sums
    ranges: tuple[Range, ...]
    seed: int
    linear: bool

    def compare(self) -> Iterator[ComparedSum]:
        """Yield all sums that can be compared, the worst of each parameter and result."""
        f64 = self.launches.f64(self.extents)
        rows = self._rows(f64)
        if not len(rows):
            return
        rng = np.random.default_rng([self.seed, 11])
        results = f64.results.differentiable
        weights = np.zeros((len(rows), len(f64.results.columns)))
        weights[:, results] = rng.normal(size=(len(rows), len(results)))
        parted = replace(f64, sums=self.sums)
        with np.errstate(all="ignore"):
            weights = self._scaled(f64, rows, weights)
            held = self._held_rounding()
            if self.launches.thread is not None:
                threads = ThreadSums(self.launches.thread, f64)
                values, values_size = threads.values(rows)
                yield from self._results(parted.values(rows), values, values_size)
                expected, size = threads.gradients(rows, weights)
                grain = (values_size * np.abs(weights)).sum(axis=1, keepdims=True)
                slack = tol.CONSTANTS * size + tol.SUM_ROUNDING * grain + held
                slack = slack + self._cancelled(lambda r, w: threads.gradients(r, w)[0], rows, weights)
                yield from self._gradients(self._added(parted, rows, weights), expected, size, slack)
            else:
                alone = f64.values(rows)
                grain = (np.abs(alone) * np.abs(weights)).sum(axis=1, keepdims=True)
                yield from self._results(parted.values(rows), alone, np.abs(alone) + 1.0)
                expected = replace(f64, sums=_PLAIN).gradients(rows, weights)
                size = self._largest(expected) + tol.SUM_LEAST
                gradients = self._added(parted, rows, weights)
                slack = tol.CONSTANTS * size + held + self._cancelled(f64.gradients, rows, weights)
                yield from self._gradients(gradients, expected, size, slack)
                if self.linear:
                    yield from self._along(f64, gradients, rows, weights, grain)
            yield from self._in_f32(f64, rows, weights, expected, (size, grain))

    def _scaled(self, f64: LaunchRunner, rows: Floats, weights: Floats) -> Floats:
        """Return cotangents scaled to make the largest gradient of each launch about 1, within limits.

        Gradients that are nothing but rounding stay small.
        """
        if not self.linear:
            return weights
        noise = self._cancelled(f64.gradients, rows, weights)
        sizes = np.abs(f64.gradients(rows, weights))
        sizes = np.fmax(sizes, noise / (tol.SUM_CANCELLED * tol.ROUNDING_UNITS * tol.ULP64))
        size = sizes[:, f64.inputs.differentiable].max(axis=1, initial=0.0)
        known = np.isfinite(size) & (size > 0.0)
        return weights * np.where(known, np.clip(1.0 / size, *tol.SUM_SCALES), 1.0)[:, None]

    def _held_rounding(self) -> float:
        """Return the rounding of gradients that are added to what their buffers held before."""
        return float(tol.ULP64 * abs(self.sums.start) * (1 + np.prod(self.extents.domain)))

    def _cancelled(
        self, evaluate: Callable[[Floats, Floats], Floats], rows: Floats, weights: Floats, *, apart: bool = False
    ) -> Floats:
        """Return the rounding of terms that cancel out in float64: of each parameter, or of each entry if ``apart``."""
        rng = np.random.default_rng([self.seed, 15])
        seen = spread_by_weights(evaluate, rows, weights, tol.ULP64, rng, tol.SUM_TRIES)
        return tol.SUM_CANCELLED * (seen if apart else self._largest(seen))

    def _largest(self, gradients: Floats) -> Floats:
        """Return for each gradient the largest one of its parameter."""
        size = np.zeros(gradients.shape)
        owners = self.launches.f64(self.extents).inputs.owners
        for owner in dict.fromkeys(owners):
            mask = owners == owner
            size[:, mask] = np.abs(gradients[:, mask]).max(axis=1, keepdims=True)
        return size

    def _rows(self, f64: LaunchRunner) -> Floats:
        """Return samples at which everything is finite; in the last one all integers are equal."""
        columns = f64.inputs.columns
        integers = self.launches.integers
        rows = draw_random(columns, self.ranges, tol.SUM_DRAWN, self.seed, f"sums {self.extents.domain}", integers)
        integral = [k for k, column in enumerate(columns) if not column.floating]
        half = tol.SUM_DRAWN // 2
        rows[half:, integral] = np.minimum(rows[half:, integral[:1]], rows[:, integral].max(initial=0.0))
        intervals = intervals_of(columns, self.ranges)
        if not keep_apart(rows, columns, intervals, integers, np.random.default_rng([self.seed, 13])):
            return rows[:0]
        with np.errstate(all="ignore"):
            if self.launches.thread is None:
                if self.launches.inside is not None:
                    rows = rows[self.launches.inside(self.extents).inside(rows)]
                values = f64.values(rows)
            else:
                threads = ThreadSums(self.launches.thread, f64)
                rows = threads.finite(rows)
                rows = rows[threads.inside(rows)] if len(rows) else rows
                if not len(rows):  # an index by the thread's number leads outside in a launch of this size
                    return rows
                values, _ = threads.values(rows)
            finite = np.isfinite(values).all(axis=1)
        good = np.flatnonzero(finite)
        return rows[[good[0], good[-1]][: tol.SUM_ROWS]] if len(good) else rows[:0]

    def _added(self, runner: LaunchRunner, rows: Floats, weights: Floats) -> Floats:
        """Return the additions of a backward launch to gradients whose buffers are not 0 before it."""
        gradients = runner.gradients(rows, weights)
        for entry in runner.entries[Mode.BACKWARD]:
            for parameter in entry.parameters:
                if parameter.role is ParameterRole.GRADIENT and parameter.access == "add":
                    start, end = runner.inputs.stretches[parameter.parameter, parameter.path]
                    gradients[:, start:end] -= runner.sums.start
        return gradients

    def _results(self, actual: Floats, expected: Floats, size: Floats) -> Iterator[ComparedSum]:
        table = self.launches.f64(self.extents).results
        yield from self._worst(table, range(len(table.columns)), actual, expected, tol.CONSTANTS * size, size)

    def _gradients(self, actual: Floats, expected: Floats, size: Floats, slack: Floats) -> Iterator[ComparedSum]:
        inputs = self.launches.f64(self.extents).inputs
        kept = inputs.differentiable
        for worst in self._worst(inputs, kept, *(array[:, kept] for array in (actual, expected, slack, size))):
            yield replace(worst, name=f"{_GRADIENT}{worst.name}")

    def _worst(
        self,
        table: ColumnTable,
        kept: Sequence[int],
        actual: Floats,
        expected: Floats,
        slack: Floats,
        size: Floats,
    ) -> Iterator[ComparedSum]:
        """Yield the worst sum of each parameter or result; arrays have some of the columns of a table."""
        owners = table.owners[kept]
        far = np.abs(actual - expected) / np.maximum(slack, tol.UNDERFLOW)
        far = np.where(np.isfinite(expected), np.where(np.isnan(far), np.inf, far), -1.0)
        for owner in dict.fromkeys(owners):
            columns = np.flatnonzero(owners == owner)
            row, place = (int(k) for k in np.unravel_index(int(np.argmax(far[:, columns])), (len(far), len(columns))))
            at = row, int(columns[place])
            if far[at] >= 0.0:
                numbers = float(actual[at]), float(expected[at]), float(slack[at]), float(size[at])
                yield ComparedSum(table.columns[kept[at[1]]].path, self.extents.domain, *numbers)

    def _along(
        self, f64: LaunchRunner, gradients: Floats, rows: Floats, weights: Floats, grain: Floats
    ) -> Iterator[ComparedSum]:
        """Yield reverse mode against forward mode along random directions, of one parameter at a time."""
        rng = np.random.default_rng([self.seed, 13])
        owners = f64.inputs.owners
        flows = np.zeros(len(owners), bool)
        flows[f64.inputs.differentiable] = True
        alone = replace(f64, sums=_PLAIN)
        left = self._cancelled(alone.gradients, rows, weights)
        for owner in dict.fromkeys(owners[flows]):
            for _ in range(tol.SUM_DIRECTIONS):
                directions = rng.normal(size=rows.shape) * (flows & (owners == owner))
                expected, slack = self._slope(alone, rows, directions, weights)
                parts = gradients * directions
                size = np.abs(parts).sum(axis=1)
                for k in np.flatnonzero(np.isfinite(expected) & np.isfinite(size)):
                    allowed = tol.SUM_ALONG * float(size[k]) + float(slack[k]) + tol.SUM_ROUNDING * float(grain[k, 0])
                    allowed += float(((self._held_rounding() + left[k]) * np.abs(directions[k])).sum())
                    numbers = float(parts[k].sum()), float(expected[k]), allowed, float(size[k])
                    yield ComparedSum(f"{_GRADIENT}{owner}", self.extents.domain, *numbers)

    def _slope(self, alone: LaunchRunner, rows: Floats, directions: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return slopes of the weighted results along directions: by forward mode, else by differences."""
        if Mode.JVP in alone.entries:
            terms = alone.tangents(rows, directions)[1] * weights
            left = self._cancelled(lambda r, d: alone.tangents(r, d)[1], rows, directions, apart=True) * np.abs(weights)
            return terms.sum(axis=1), (tol.SUM_TANGENT * np.abs(terms) + left).sum(axis=1)
        slope, bar = slopes_along(lambda r, _: alone.values(r), rows, directions, weights)
        return np.where(bar <= tol.SUM_SHARP * np.abs(slope), slope, np.nan), bar

    def _in_f32(
        self, f64: LaunchRunner, rows: Floats, weights: Floats, expected: Floats, sizes: tuple[Floats, Floats]
    ) -> Iterator[ComparedSum]:
        """Yield gradients in float32, as far as the conditioning lets them be right."""
        f32 = self.launches.f32(self.extents)
        if f32 is None or Mode.BACKWARD not in f32.entries:
            return
        half = any(column.scalar == "half" for column in (*f64.inputs.columns, *f64.results.columns))
        expected, in_f32, moves = self._expected_in_f32(
            f64, f32, (rows, weights, expected), tol.ULP16 if half else tol.ULP32
        )
        size, grain = np.fmax(sizes[0], in_f32), sizes[1]
        held = (tol.SUM_HELD_HALF if half else tol.SUM_HELD_F32) * abs(self.sums.start)
        close = tol.SUM_CLOSE_HALF if half else tol.SUM_CLOSE_F32
        slack = close * size + tol.SUM_ULPS * moves + held + tol.UNDERFLOW_F32
        slack += (tol.SUM_CLOSE_HALF if half else tol.SUM_ROUNDING_F32) * grain
        if isinstance(f32, LaunchRunner):
            actual = self._added(replace(f32, sums=self.sums), rows, weights)
            by_runtime = self.launches.by_runtime(self.extents)
            if by_runtime is not None:
                run = replace(by_runtime, start=self.sums.start).gradients(rows, weights)
                for worst in self._gradients(run, expected, size + moves, slack):
                    yield replace(worst, f32=True)
        elif isinstance(f32, LaunchOnDevice):
            f32 = replace(f32, start=self.sums.start)
            actual, again = (f32.gradients(rows, weights) for _ in range(2))
            far = (tol.SUM_CLOSE_HALF if half else tol.SUM_ORDER) * (size + moves + abs(self.sums.start))
            for worst in self._gradients(again, actual, size + moves, far + tol.UNDERFLOW_F32):
                yield replace(worst, repeated=True)
            slack += filter_allowance(f64, rows, lambda r: f64.gradients(r, weights), self.seed)
        else:
            actual = f32.gradients(rows, weights)
        for worst in self._gradients(actual, expected, size + moves, slack):
            yield replace(worst, f32=True)

    def _expected_in_f32(
        self, f64: LaunchRunner, f32: RowFunction, known: tuple[Floats, Floats, Floats], unit: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return the expected sums in float32, the sums of magnitudes, and the rounding error of both.

        A thread may compute another function in float32 than in float64, such as a hash. So sums are compared with the
        same threads by themselves, where these are finite. Where threads share tensors, sums are compared with those of
        a launch whose sums have one part, where these are far from float64.
        """
        rows, weights, expected = known
        rng = np.random.default_rng([self.seed, 12])
        floating = [k for k, column in enumerate(f64.inputs.columns) if column.floating]
        thread, on_cpu = self.launches.thread_f32, isinstance(f32, LaunchRunner)
        threads = None if thread is None or Mode.BACKWARD not in thread.entries else ThreadSums(thread, f64)
        units = unit / tol.ROUNDING_UNITS

        def evaluate(rows: Floats, weights: Floats) -> Floats:
            return f64.gradients(rows, weights) if threads is None else threads.gradients(rows, weights)[0]

        base, sizes = evaluate(rows, weights), np.zeros(expected.shape)
        far = self._largest(spread_by_weights(evaluate, rows, weights, units, rng, tol.SUM_TRIES))
        if threads is None or not on_cpu:
            far = np.fmax(far, spread_by_inputs(evaluate, rows, base, floating, unit, rng, tol.SUM_TRIES, weights))
        if threads is not None:
            sizes = np.nan_to_num(threads.gradients(rows, weights)[1], posinf=0.0, neginf=0.0)
            return np.where(np.isfinite(base), base, expected), sizes, far
        if isinstance(f32, LaunchRunner):
            one = replace(f32, sums=_PLAIN)
            alone = one.gradients(rows, weights)
            left = spread_by_weights(one.gradients, rows, weights, units, rng, tol.SUM_TRIES)
            far = np.fmax(far, self._largest(left))
            close = tol.SUM_CLOSE_F32 * (np.abs(expected) + np.abs(alone)) + tol.SUM_ULPS * far
            astray = np.abs(alone - expected) > close
            return np.where(astray & np.isfinite(alone), alone, expected), sizes, far
        return expected, sizes, far
