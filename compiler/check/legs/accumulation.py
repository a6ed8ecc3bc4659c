"""Sums over threads: launches of several sizes go in, the comparison of their totals with what threads add comes out.

Gradient buffers start non-zero, indices collide, and sums are made up of several parts. What is expected is the sum of
what each thread gives by itself; where threads share tensors there is no such thing, and reverse mode along random
directions is held against forward mode, whose sums have one part only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.model.findings import Compared
from slangad.compiler.check.reference.rounding import moved, rounded
from slangad.compiler.check.run.filtering import filter_allowance
from slangad.compiler.check.run.launch import Sums, WholeRunner
from slangad.compiler.check.run.launch_device import DeviceLaunches
from slangad.compiler.check.run.thread_sums import Threads
from slangad.compiler.check.sampling.samples import draw_random, interval_of, keep_apart
from slangad.compiler.check.sampling.scouts import slopes_along
from slangad.compiler.check.sampling.shapes import show
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.report.model import Failure, Leg, LegResult, LegState, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.run.companions import Launches
    from slangad.compiler.ir.nodes import Range

    Shape = tuple[int, ...]

_GRADIENT: Final = "the gradient of "
_IN_FLOAT32: Final = " in float32"


@dataclass(frozen=True, slots=True)
class Number:
    """One thing that was compared: of what parameter or result, over how many threads.

    ``repeated`` says that both numbers are of launches with the same inputs.
    """

    what: str
    domain: Shape
    found: float
    expected: float
    slack: float
    size: float
    repeated: bool = False

    @property
    def far(self) -> float:
        """Over what is allowed."""
        gap = abs(self.found - self.expected)
        return float("inf") if np.isnan(gap) else gap / max(self.slack, tol.UNDERFLOW)

    @property
    def single(self) -> bool:
        """Whether it is about float32."""
        return self.what.endswith(_IN_FLOAT32)

    @property
    def overflows(self) -> bool:
        """Whether it is finite, but not in float32: sums say nothing then."""
        return self.single and not np.isfinite(self.found)


def compare_accumulation(launches: Launches, ranges: Iterable[Range], seed: int, *, linear: bool) -> Compared:
    """Sums of results and gradients over several numbers of threads."""
    numbers: list[Number] = []
    reason = ""
    declared = tuple(ranges)
    for domain, setting in zip(tol.SUM_SIZES[launches.dims], tol.SUM_SETTINGS, strict=True):
        extents = launches.extents(domain)
        if isinstance(extents, str):
            reason = extents
            continue
        numbers += _Size(launches, extents, Sums(*setting), declared, seed, linear=linear).numbers()
    if not numbers:
        return Compared(LegResult(Leg.ACCUMULATION, LegState.UNDECIDED, detail=reason or "nothing finite to add up"))
    worst = max(numbers, key=lambda number: (number.far > 1.0 and not number.overflows, number.far))
    if worst.far <= 1.0:
        return Compared(LegResult(Leg.ACCUMULATION, LegState.AGREES, len(numbers), worst.far))
    return _wrong(worst, len(numbers))


def _wrong(worst: Number, count: int) -> Compared:
    close = worst.single and abs(worst.found - worst.expected) <= tol.SUM_COARSE * worst.size
    coarse = not worst.overflows and not close
    verdict = Verdict.FAIL if coarse else Verdict.PRECISION
    threads = show(worst.domain)
    message = f"{worst.what} over {threads} threads is not the sum of what the threads give"
    cause = "an addition is missing or done twice, or what the buffer held is lost" if coarse else ""
    if worst.overflows:
        message = f"{worst.what} over {threads} threads is not finite, and in float64 it is"
        cause = "something is too large for float32, or is divided by what is too small for it"
    if worst.repeated:
        verdict, cause = Verdict.NONDETERMINISTIC, "threads that write to the same place at the same time"
        message = f"two launches over {threads} threads with the same inputs differ in {worst.what}"
    failure = Failure(
        Leg.ACCUMULATION,
        verdict,
        message,
        column=worst.what.removeprefix(_GRADIENT).removesuffix(_IN_FLOAT32),
        expected=worst.expected,
        error=worst.slack,
        found=worst.found,
        cause=cause,
    )
    result = LegResult(Leg.ACCUMULATION, LegState.DISAGREES, count, worst.far, threads)
    return Compared(result, verdict, message, failure=failure)


@dataclass(frozen=True, slots=True)
class _Size:
    """Launches of one size."""

    launches: Launches
    extents: Extents
    sums: Sums
    ranges: tuple[Range, ...]
    seed: int
    linear: bool

    def numbers(self) -> Iterator[Number]:
        """Everything that can be compared."""
        wide = self.launches.wide(self.extents)
        rows = self._rows(wide)
        if not len(rows):
            return
        rng = np.random.default_rng([self.seed, 11])
        weights = np.zeros((len(rows), len(wide.results.columns)))
        outputs = wide.results.differentiable
        weights[:, outputs] = rng.normal(size=(len(rows), len(outputs)))
        parted = replace(wide, sums=self.sums)
        with np.errstate(all="ignore"):
            weights = self._scaled(wide, rows, weights)
            held = self._held()
            if self.launches.thread is not None:
                threads = Threads(self.launches.thread, wide)
                values, values_size = threads.values(rows)
                yield from self._results(parted.values(rows), values, values_size)
                expected, size = threads.gradients(rows, weights)
                grain = (values_size * np.abs(weights)).sum(axis=1, keepdims=True)
                slack = tol.CONSTANTS * size + tol.SUM_ROUNDING * grain + held
                slack = slack + self._left(lambda w: threads.gradients(rows, w)[0], weights)
                yield from self._gradients(self._added(parted, rows, weights), expected, size, slack)
            else:
                alone = wide.values(rows)
                grain = (np.abs(alone) * np.abs(weights)).sum(axis=1, keepdims=True)
                yield from self._results(parted.values(rows), alone, np.abs(alone) + 1.0)
                expected = replace(wide, sums=Sums(1, 1, 0.0)).gradients(rows, weights)
                size = self._largest(expected) + tol.SUM_LEAST
                found = self._added(parted, rows, weights)
                slack = tol.CONSTANTS * size + held + self._left(lambda w: wide.gradients(rows, w), weights)
                yield from self._gradients(found, expected, size, slack)
                if self.linear:
                    yield from self._along(wide, found, rows, weights, grain)
            yield from self._single(wide, rows, weights, expected, (size, grain))

    def _scaled(self, wide: WholeRunner, rows: Floats, weights: Floats) -> Floats:
        """The cotangents, so large that the largest gradient of each launch is about 1, as far as that goes.

        Gradients that are nothing but what rounding leaves stay as small.
        """
        if not self.linear:
            return weights
        found = np.abs(wide.gradients(rows, weights))
        found = np.fmax(
            found,
            self._left(lambda w: wide.gradients(rows, w), weights)
            / (tol.SUM_CANCELLED * tol.ROUNDING_UNITS * tol.ULP64),
        )
        size = found[:, wide.inputs.differentiable].max(axis=1, initial=0.0)
        return weights * np.where(np.isfinite(size) & (size > 0.0), np.clip(1.0 / size, *tol.SUM_SCALES), 1.0)[:, None]

    def _held(self) -> float:
        """What rounding makes of gradients that are added to what their buffers hold before."""
        return float(tol.ULP64 * abs(self.sums.start) * (1 + np.prod(self.extents.domain)))

    def _left(self, evaluate: Callable[[Floats], Floats], weights: Floats, *, apart: bool = False) -> Floats:
        """What rounding leaves of terms that cancel out, in float64: of each parameter, or of each number by itself."""
        seen = rounded(evaluate, weights, tol.ULP64, np.random.default_rng([self.seed, 15]), tol.SUM_TRIES)
        return tol.SUM_CANCELLED * (seen if apart else self._largest(seen))

    def _largest(self, gradients: Floats) -> Floats:
        """For each gradient the largest one of its parameter."""
        size = np.zeros(gradients.shape)
        owners = np.array([owner_of(column.path) for column in self.launches.wide(self.extents).inputs.columns])
        for owner in dict.fromkeys(owners):
            own = owners == owner
            size[:, own] = np.abs(gradients[:, own]).max(axis=1, keepdims=True)
        return size

    def _rows(self, wide: WholeRunner) -> Floats:
        """Places where everything is finite, as far as there are any; in the last one all integers are equal."""
        columns = wide.inputs.columns
        integers = self.launches.integers
        rows = draw_random(columns, self.ranges, tol.SUM_DRAWN, self.seed, f"sums {self.extents.domain}", integers)
        whole = [k for k, column in enumerate(columns) if not column.floating]
        half = tol.SUM_DRAWN // 2
        rows[half:, whole] = np.minimum(rows[half:, whole[:1]], rows[:, whole].max(initial=0.0))
        intervals = [interval_of(column, self.ranges) for column in columns]
        if not keep_apart(rows, columns, intervals, integers, np.random.default_rng([self.seed, 13])):
            return rows[:0]
        with np.errstate(all="ignore"):
            if self.launches.thread is None:
                if self.launches.reach is not None:
                    rows = rows[self.launches.reach(self.extents).inside(rows)]
                values = wide.values(rows)
            else:
                threads = Threads(self.launches.thread, wide)
                rows = threads.finite(rows)
                rows = rows[threads.inside(rows)]
                values, _ = threads.values(rows)
            finite = np.isfinite(values).all(axis=1)
        good = np.flatnonzero(finite)
        return rows[[good[0], good[-1]][: tol.SUM_ROWS]] if len(good) else rows[:0]

    def _added(self, runner: WholeRunner, rows: Floats, weights: Floats) -> Floats:
        """What a backward launch adds to gradients that hold something already."""
        found = runner.gradients(rows, weights)
        for entry in runner.entries[Mode.BACKWARD]:
            for parameter in entry.parameters:
                if parameter.role is ParameterRole.GRADIENT and parameter.access == "add":
                    start, end = runner.inputs.stretches[parameter.parameter, parameter.path]
                    found[:, start:end] -= runner.sums.start
        return found

    def _results(self, found: Floats, expected: Floats, size: Floats) -> Iterator[Number]:
        columns = self.launches.wide(self.extents).results.columns
        yield from self._worst([column.path for column in columns], found, expected, tol.CONSTANTS * size, size, "{}")

    def _gradients(
        self, found: Floats, expected: Floats, size: Floats, slack: Floats, where: str = ""
    ) -> Iterator[Number]:
        wide = self.launches.wide(self.extents)
        kept = wide.inputs.differentiable
        names = [wide.inputs.columns[k].path for k in kept]
        text = f"{_GRADIENT}{{}}{where}"
        yield from self._worst(names, found[:, kept], expected[:, kept], slack[:, kept], size[:, kept], text)

    def _worst(
        self, names: list[str], found: Floats, expected: Floats, slack: Floats, size: Floats, text: str
    ) -> Iterator[Number]:
        """The worst number of each parameter or result."""
        owners = [owner_of(name) for name in names]
        far = np.abs(found - expected) / np.maximum(slack, tol.UNDERFLOW)
        far = np.where(np.isfinite(expected), np.where(np.isnan(far), np.inf, far), -1.0)
        for owner in dict.fromkeys(owners):
            own = [k for k, name in enumerate(owners) if name == owner]
            row, place = (int(k) for k in np.unravel_index(int(np.argmax(far[:, own])), (len(far), len(own))))
            at = row, own[place]
            if far[at] >= 0.0:
                what = text.format(names[own[place]])
                numbers = float(found[at]), float(expected[at]), float(slack[at]), float(size[at])
                yield Number(what, self.extents.domain, *numbers)

    def _along(
        self, wide: WholeRunner, found: Floats, rows: Floats, weights: Floats, grain: Floats
    ) -> Iterator[Number]:
        """Reverse mode against forward mode along directions of one parameter at a time."""
        rng = np.random.default_rng([self.seed, 13])
        owners = np.array([owner_of(column.path) for column in wide.inputs.columns])
        flows = np.zeros(len(owners), bool)
        flows[wide.inputs.differentiable] = True
        alone = replace(wide, sums=Sums(1, 1, 0.0))
        left = self._left(lambda w: alone.gradients(rows, w), weights)
        for owner in dict.fromkeys(owners[flows]):
            for _ in range(tol.SUM_DIRECTIONS):
                directions = rng.normal(size=rows.shape) * (flows & (owners == owner))
                expected, slack = self._slope(alone, rows, directions, weights)
                parts = found * directions
                size = np.abs(parts).sum(axis=1)
                for k in np.flatnonzero(np.isfinite(expected)):
                    allowed = tol.SUM_ALONG * float(size[k]) + float(slack[k]) + tol.SUM_ROUNDING * float(grain[k, 0])
                    allowed += float(((self._held() + left[k]) * np.abs(directions[k])).sum())
                    what = f"{_GRADIENT}{owner}"
                    yield Number(
                        what, self.extents.domain, float(parts[k].sum()), float(expected[k]), allowed, float(size[k])
                    )

    def _slope(self, alone: WholeRunner, rows: Floats, directions: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """The weighted results along directions: by forward mode, or by differences where there is none."""
        if Mode.JVP in alone.entries:
            terms = alone.tangents(rows, directions)[1] * weights
            left = self._left(lambda d: alone.tangents(rows, d)[1] * weights, directions, apart=True)
            return terms.sum(axis=1), (tol.SUM_TANGENT * np.abs(terms) + left).sum(axis=1)
        slope, bar = slopes_along(lambda r, _: alone.values(r), rows, directions, weights)
        return np.where(bar <= tol.SUM_SHARP * np.abs(slope), slope, np.nan), bar

    def _single(
        self, wide: WholeRunner, rows: Floats, weights: Floats, expected: Floats, sizes: tuple[Floats, Floats]
    ) -> Iterator[Number]:
        """The same in float32, as far as the conditioning lets it be right."""
        narrow = self.launches.narrow(self.extents)
        if narrow is None or Mode.BACKWARD not in narrow.entries:
            return
        half = any(column.scalar == "half" for column in (*wide.inputs.columns, *wide.results.columns))
        expected, own, moves = self._alone(wide, narrow, (rows, weights, expected), tol.ULP16 if half else tol.ULP32)
        size, grain = np.fmax(sizes[0], own), sizes[1]
        held = (tol.SUM_HELD_HALF if half else tol.SUM_HELD_F32) * abs(self.sums.start)
        slack = (
            (tol.SUM_CLOSE_HALF if half else tol.SUM_CLOSE_F32) * size + tol.SUM_ULPS * moves + held + tol.UNDERFLOW_F32
        )
        slack += (tol.SUM_CLOSE_HALF if half else tol.SUM_ROUNDING_F32) * grain
        if isinstance(narrow, WholeRunner):
            found = self._added(replace(narrow, sums=self.sums), rows, weights)
        elif isinstance(narrow, DeviceLaunches):
            narrow = replace(narrow, start=self.sums.start)
            found, again = (narrow.gradients(rows, weights) for _ in range(2))
            far = (tol.SUM_CLOSE_HALF if half else tol.SUM_ORDER) * (size + moves + abs(self.sums.start))
            for number in self._gradients(again, found, size + moves, far + tol.UNDERFLOW_F32):
                yield replace(number, repeated=True)
            slack += filter_allowance(wide, rows, lambda r: wide.gradients(r, weights), self.seed)
        else:
            found = narrow.gradients(rows, weights)
        yield from self._gradients(found, expected, size + moves, slack, _IN_FLOAT32)

    def _alone(
        self, wide: WholeRunner, narrow: RowFunction, known: tuple[Floats, Floats, Floats], unit: float
    ) -> tuple[Floats, Floats, Floats]:
        """What sums in float32 should be, the sums of magnitudes, and how far rounding moves either.

        What threads give in float32 may be anything but what they give in float64: a hash of an input is another one.
        So sums are held against what the same threads give by themselves, as far as that is finite, and where threads
        share tensors against one launch whose sums have one part, where that is far from float64.
        """
        rows, weights, expected = known
        rng = np.random.default_rng([self.seed, 12])
        floating = [k for k, column in enumerate(wide.inputs.columns) if column.floating]
        single, whole = self.launches.single, isinstance(narrow, WholeRunner)
        threads = None if single is None or Mode.BACKWARD not in single.entries else Threads(single, wide)

        def evaluate(rows: Floats, weights: Floats) -> Floats:
            return wide.gradients(rows, weights) if threads is None else threads.gradients(rows, weights)[0]

        base, own = evaluate(rows, weights), np.zeros(expected.shape)
        far = self._largest(
            rounded(lambda w: evaluate(rows, w), weights, unit / tol.ROUNDING_UNITS, rng, tol.SUM_TRIES)
        )
        if threads is None or not whole:
            far = np.fmax(far, moved(lambda r: evaluate(r, weights), rows, base, floating, unit, rng, tol.SUM_TRIES))
        if threads is not None:
            own = np.nan_to_num(threads.gradients(rows, weights)[1], posinf=0.0, neginf=0.0)
            return np.where(np.isfinite(base), base, expected), own, far
        if isinstance(narrow, WholeRunner):
            one = replace(narrow, sums=Sums(1, 1, 0.0))
            alone = one.gradients(rows, weights)
            left = rounded(lambda w: one.gradients(rows, w), weights, unit / tol.ROUNDING_UNITS, rng, tol.SUM_TRIES)
            far = np.fmax(far, self._largest(left))
            astray = (
                np.abs(alone - expected) > tol.SUM_CLOSE_F32 * (np.abs(expected) + np.abs(alone)) + tol.SUM_ULPS * far
            )
            return np.where(astray & np.isfinite(alone), alone, expected), own, far
        return expected, own, far
