"""Compare derivatives in float32 with float64, within the errors that the conditioning permits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.legs.float32_coverage import coverage, with_samples_left_out
from slangad.compiler.check.legs.float32_steps import differences_agree
from slangad.compiler.check.model.findings import Compared, State
from slangad.compiler.check.model.outcomes import CheckOutcome
from slangad.compiler.check.reference.rounding import spread_by_inputs, term_sizes
from slangad.compiler.check.run.derivative import MODES, ModeDerivative
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.figures import equal_values
from slangad.compiler.report.model import Leg, LegResult, LegState, Value

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.functions import RowFunction

_MESSAGE: Final = "{} mode in float32 is far from the same in float64, further than rounding of the inputs explains"
_UNGUARDED: Final = (
    "{} mode in float32 is not finite at {}, where float64 is: declare a range without that, or guard the division "
    "(or root)"
)


def compare_float32(context: LegContext) -> Compared:
    """Compare derivatives in float32, where the user asked for it: on the CPU, or on a device."""
    device, launches = context.companions.device, context.companions.indices
    if isinstance(device, str):
        return _missing(device)
    if device is not None and launches is not None:
        return _compare_launches(context, device, filtered=launches.filtered)
    f32 = context.f32 if device is None else device
    assert f32 is not None  # noqa: S101  (the table asks)
    return _compare(context, f32, filtered=False)


def _missing(reason: str) -> Compared:
    return Compared(LegResult(Leg.FLOAT32, LegState.MISSING, detail=reason))


def _compare_launches(context: LegContext, device: RowFunction, *, filtered: bool) -> Compared:
    """Compare derivatives of launches on a device at a few of the samples, since each launch takes a while."""
    some = np.unique(np.linspace(0, len(context.rows) - 1, tol.DEVICE_SAMPLES).astype(np.int64))
    compared = _compare(context.at(some), device, filtered=filtered)
    wrong = None if compared.wrong is None else replace(compared.wrong, sample=int(some[compared.wrong.sample]))
    covered = with_samples_left_out(compared.single, len(context.rows) - len(some))
    return replace(compared, wrong=wrong, float32=None, single=covered)


def _compare(context: LegContext, f32: RowFunction, *, filtered: bool) -> Compared:
    """Compare derivatives in float32 with those in float64.

    Args:
        context: The subject.
        f32: The subject in float32.
        filtered: Hardware filters its textures, with weights of eight bits.
    """
    mode = next((leg for leg, mode in MODES.items() if leg in context.jacobians and mode in f32.entries), None)
    if mode is None:
        return _missing("it does not compile in float32")
    comparison = _Float32(context, f32, mode, filtered)
    expected = context.jacobians[mode]
    with np.errstate(all="ignore"):
        numbers = comparison.numbers()
        certain = (context.findings.states[mode] == State.OK) & (np.abs(expected) < tol.LARGEST_F32)
        wrong = _wrong(numbers, certain)
        if wrong.any():
            some = np.flatnonzero(wrong.any(axis=(1, 2)))
            numbers.slack[some] += comparison.slack_nearby(some, numbers.actual)
            wrong = _wrong(numbers, certain)
    guarded = wrong & (np.isfinite(numbers.actual) | ~comparison.is_degenerate(wrong, numbers.actual)[:, None, None])
    unguarded = bool(wrong.any()) and not guarded.any()
    compared = compared_numbers(
        Leg.FLOAT32, numbers, certain, wrong if unguarded else guarded, _MESSAGE.format(mode.value)
    )
    outcome = CheckOutcome.IMPRECISE
    if unguarded and compared.wrong is not None:
        outcome = CheckOutcome.UNGUARDED
        values = comparison.degenerate_inputs(compared.wrong.sample)
        compared = replace(compared, message=_UNGUARDED.format(mode.value, values))
    covered = coverage(context.findings, mode, certain)
    return replace(compared, outcome=outcome, float32=numbers.actual, single=covered)


def _wrong(numbers: Numbers, certain: Bools) -> Bools:
    """Return True for numbers that are too far apart, if they are so at enough samples."""
    wrong = certain & numbers.apart()
    samples, compared = wrong.any(axis=(1, 2)).sum(), certain.any(axis=(1, 2)).sum()
    return np.asarray(wrong & (samples >= max(tol.F32_OFTEN_LEAST, tol.F32_OFTEN * compared)))


@dataclass(frozen=True, slots=True)
class _Float32:
    """The comparison of one mode's Jacobians."""

    context: LegContext
    f32: RowFunction
    mode: Leg
    filtered: bool

    @property
    def _f64(self) -> RowFunction:
        return self.context.f64

    @property
    def _expected(self) -> Floats:
        return self.context.jacobians[self.mode]

    @property
    def _has_halves(self) -> bool:
        return any(c.scalar == "half" for c in (*self._f64.inputs.columns, *self._f64.results.columns))

    @property
    def _ulp(self) -> float:
        return tol.ULP16 if self._has_halves else tol.ULP32

    @property
    def _sizes(self) -> Floats:
        return np.where(np.isfinite(self._expected), np.abs(self._expected), 0.0)

    @property
    def _usual(self) -> Floats:
        return np.asarray(np.median(self._sizes, axis=0))

    @property
    def _degenerate(self) -> Bools:
        """Return True for the numbers of samples that are degenerate; integers can't be moved a little."""
        floating = [column.floating for column in self._f64.inputs.columns]
        return np.asarray(self.context.samples.degenerate & floating)

    def is_degenerate(self, wrong: Bools, actual: Floats) -> Bools:
        """Return True for samples whose wrong numbers that are not finite are so at their degenerate inputs alone.

        Such numbers are finite as soon as these inputs move a little, up or down. Numbers that overflow are not.
        """
        result = np.zeros(len(wrong), bool)
        bad = wrong & ~np.isfinite(actual)
        some = np.flatnonzero(bad.any(axis=(1, 2)) & self._degenerate.any(axis=1))
        if len(some):
            moves = np.where(self._degenerate[some], tol.F32_ASIDE * self.context.samples.scales[some], 0.0)
            derivative, rows = ModeDerivative(self.f32, self.mode), self.context.rows[some]
            for moved in (rows + moves, rows - moves):
                result[some] |= (np.isfinite(derivative(moved)) | ~bad[some]).all(axis=(1, 2))
        return result

    def degenerate_inputs(self, sample: int) -> str:
        """Return the degenerate inputs of a sample with their values."""
        columns, row = self._f64.inputs.columns, self.context.rows[sample]
        return equal_values([Value(columns[k].path, float(row[k])) for k in np.flatnonzero(self._degenerate[sample])])

    def numbers(self) -> Numbers:
        """Return the Jacobians in both precisions, and how far apart they may be."""
        rng = np.random.default_rng([self.context.seed, 3])
        rows, expected, sizes = self.context.rows, self._expected, self._sizes
        actual = ModeDerivative(self.f32, self.mode)(rows)
        slack = self._conditioning(rows, (expected, actual), self._f64.inputs.differentiable, rng, tol.CONDITION_TRIES)
        imprecise = (tol.F32_IMPRECISE_HALF if self._has_halves else 1.0) * tol.F32_IMPRECISE
        imprecise = max(imprecise, self.context.findings.share)
        slack = slack + imprecise * np.fmax(np.abs(expected), self._usual) + tol.UNDERFLOW_F32
        cancelled = tol.F32_FILTERED if self.filtered else tol.F32_CANCELLED * self._ulp
        slack += cancelled * np.fmax(sizes.max(axis=0), sizes.max(axis=2, keepdims=True))
        return Numbers(actual, expected, slack)

    def _conditioning(
        self, rows: Floats, bases: tuple[Floats, Floats], inputs: list[int], rng: np.random.Generator, tries: int
    ) -> Floats:
        """Return the change of derivatives in both precisions as inputs move by rounding."""
        f64, f32, ulp = ModeDerivative(self._f64, self.mode), ModeDerivative(self.f32, self.mode), self._ulp
        far = tol.F32_CONDITION * spread_by_inputs(f64, rows, bases[0], inputs, ulp, rng, tries)
        ulps = tol.F32_CONDITION_ULPS * ulp
        return far + tol.F32_CONDITION_OWN * spread_by_inputs(f32, rows, bases[1], inputs, ulps, rng, tries)

    def slack_nearby(self, some: Indices, actual: Floats) -> Floats:
        """Return more slack for some of the samples, from a closer look.

        Inputs without a derivative move by rounding too, often enough to meet the other side of a branch. A derivative
        that is nothing but terms that cancel out may be off by the rounding of these.
        """
        rng = np.random.default_rng([self.context.seed, 5])
        rows, expected = self.context.rows[some], self._expected[some]
        floating = [k for k, column in enumerate(self._f64.inputs.columns) if column.floating]
        more = self._conditioning(rows, (expected, actual[some]), floating, rng, tol.F32_TRIES_CLOSELY)
        derivative = ModeDerivative(self._f64, self.mode)
        count = expected.shape[1 if derivative.is_reverse else 2]
        left = tol.F32_TERMS * self._ulp * term_sizes(derivative, rows, count, rng)
        gap = np.abs(actual[some] - expected)
        alive = (actual[some] != 0.0) | ((actual != 0.0).mean(axis=0) >= tol.F32_ALIVE)
        more += np.where(alive & self._of_own_function(rows, actual[some], gap), gap, 0.0)
        return more + np.where(self._usual <= np.median(left, axis=0), left, 0.0)

    def _of_own_function(self, rows: Floats, actual: Floats, gap: Floats) -> Bools:
        """Return True for derivatives that are right for what float32 computes: another function, such as a hash."""
        fits = np.zeros(actual.shape, bool)
        if Mode.FORWARD not in self.f32.entries:
            return fits
        for place, column in enumerate(self.f32.inputs.differentiable):
            entries, near = actual[:, :, place], tol.F32_OWN_FUNCTION * gap[:, :, place]
            fits[:, :, place] = differences_agree(self.f32, (rows, column), entries, near, self._ulp)
        return fits
