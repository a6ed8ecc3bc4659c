"""Examine entries of a Jacobian that no screening window confirms.

An entry is wrong only if two sets of windows with different nodes disagree with it. The slopes on both sides, the
slopes close by, and rounding must not explain the difference. Thus no accusation rests on one estimate. Kinks, jumps,
noise and edges of a domain are no mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import State
from slangad.compiler.check.reference.differences import (
    confirming_estimate,
    has_stairs,
    is_on_step,
    measure,
    noise_excuses,
    one_sided_estimate,
    slopes_around,
)
from slangad.compiler.check.reference.rounding import evaluate_copies, scatter, spread_by_weights
from slangad.compiler.check.reference.slack import entry_slack
from slangad.compiler.check.reference.stencil import central
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.differences import Estimate, Ladder, Slices
    from slangad.compiler.check.reference.function import ExaminedFunction


@dataclass(frozen=True, slots=True)
class DeepComparison:
    """The comparison of pairs of sample and input; arrays have shape (pairs, results).

    ``slices``, ``ladder`` and ``estimate`` are those of the pairs.
    """

    function: ExaminedFunction
    samples: Samples
    values: Floats
    jacobians: Mapping[Leg, Floats]
    findings: Findings
    pairs: Indices
    slices: Slices
    ladder: Ladder
    estimate: Estimate

    def settle(self) -> None:
        """Settle the entries of every pair in the findings, as far as possible.

        Agreement with a step of rounding shows nothing: a wrong entry may be as small as a step.
        """
        sharp = self._is_sharp(self.estimate)
        self._note_expected(self.estimate, sharp)
        on_step = is_on_step(self.ladder, self.estimate, self._noise(np.arange(len(self.pairs))))
        blunt = on_step & ~self._is_sharp(self.estimate, still=False)
        undecided = np.zeros(sharp.shape, bool)
        for mode in self.jacobians:
            entries, slack = self._entries(mode)
            near = sharp & self._is_near(self.estimate, entries, slack)
            self._set(mode, near & ~(blunt & (entries != 0.0)), State.OK)
            undecided |= self._has(mode, State.UNDECIDED)
        which = np.flatnonzero(undecided.any(axis=1))
        if len(which):
            try:
                self._from_both_sides(which[: self.function.most_deep], sharp)
            finally:  # also when the time is over
                self._forget_expected(which)

    def _from_both_sides(self, which: Indices, sharp: Bools) -> None:
        """Settle kinks and jumps; accuse what is neither."""
        slices, noise, evaluate = self.slices.pick(which), self._noise(which), self.function.evaluate
        (left, below, doubt), (right, above, more) = (
            one_sided_estimate(evaluate, slices, sign, noise) for sign in (-1, 1)
        )
        known_left, known_right = self._is_sharp(left, which), self._is_sharp(right, which)
        with np.errstate(all="ignore"):
            low = np.fmin(left.slope, right.slope)
            high = np.fmax(left.slope, right.slope)
            bars = np.where(known_left, left.bar, 0.0) + np.where(known_right, right.bar, 0.0)
            here = self.values[self.pairs[which, 0]]
            gap = np.fmax(np.abs(below - here), np.abs(above - here))
            jump = known_left & known_right & (gap > doubt + more + tol.SIDE_VALUE * np.abs(here))
            bend = known_left & known_right & ~jump
            bend &= high - low > 2 * bars + tol.BEND * np.maximum(abs(low), abs(high))
        stairs = has_stairs(self.ladder.pick(which), self.estimate.pick(which), noise)
        for mode in self.jacobians:
            entries, slack = (array[which] for array in self._entries(mode))
            with np.errstate(all="ignore"):
                between = (entries >= low - bars - slack) & (entries <= high + bars + slack)
            undecided = self._has(mode, State.UNDECIDED)[which]
            across_steps = self._is_across_steps(entries, slack, (left, right), which)
            self._set(mode, undecided & (jump | across_steps), State.JUMP, which)
            self._set(mode, undecided & bend & between, State.KINK, which)
            at_kink = undecided & ~between & bend
            smooth = undecided & ~bend & ~jump & ~across_steps & sharp[which] & ~((entries == 0.0) & stairs)
            smooth &= ~self._is_near(self.estimate.pick(which), entries, slack) & ~self._is_faint(entries, which)
            self._accuse(mode, which, at_kink, smooth, (low - bars, high + bars))
        self._note_interval(which, bend | jump, low - bars, high + bars)
        self.findings.jumps[self.pairs[which[jump.any(axis=1)], 0]] = True

    def _is_across_steps(
        self, entries: Floats, slack: Floats, sides: tuple[Estimate, Estimate], which: Indices
    ) -> Bools:
        """Return True for entries that are right on both sides, where steps finer than windows make another slope."""
        across = self.estimate.slope[which]
        size = tol.STAIRS * np.abs(across)
        with np.errstate(all="ignore"):
            right = [
                (side.bar <= size)
                & (np.abs(side.slope - across) > 2 * (side.bar + self.estimate.bar[which]) + size)
                & (np.abs(entries - side.slope) <= side.bar + slack)
                for side in sides
            ]
        return np.asarray(right[0] & right[1])

    def _is_overlooked(self, entries: Floats, slack: Floats, which: Indices) -> Bools:
        """Return True for entries that all windows allow which are smaller than the distance to zero.

        Only windows count that are as exact as rounding allows. Larger windows overlook what changes at that distance,
        if rounding hides it from them. ``sqrt(1 + k / (x * x))`` with a small ``k`` is 1 in large windows.
        """
        slices = self.slices.pick(which)
        distance = np.abs(slices.rows[np.arange(len(which)), slices.columns])
        with np.errstate(all="ignore"):
            scales = np.where(distance > 0.0, np.exp2(np.floor(np.log2(distance))), slices.scales)
            near = measure(self.function.evaluate, replace(slices, scales=scales), tol.SCREEN_LEVELS, central())
            telling = near.residues() <= self._noise(which)[:, None] * near.sizes
            telling |= near.bar <= tol.SHARP * np.abs(near.slope)
            far = ~(np.abs(entries[:, None] - near.slope) <= near.bar + slack[:, None]) & np.isfinite(near.slope)
        return np.asarray(telling.any(axis=1) & ~far.any(axis=1) & (scales < slices.scales)[:, None])

    def _is_faint(self, entries: Floats, which: Indices) -> Bools:
        """Return True where values are constant, for entries that rounding of numbers up to 1 may hide in them.

        ``0.5 - 0.5 * tanh(x)`` is 0 at 20, and its derivative is not.
        """
        constant = (self.estimate.slope[which] == 0.0) & (self.estimate.bar[which] == 0.0)
        finite = np.where(np.isfinite(self.values), np.abs(self.values), 0.0)
        hidden = tol.GRAIN * np.minimum(finite.max(axis=0), tol.HIDDEN_SIZE) / self.slices.scales[which][:, None]
        with np.errstate(all="ignore"):
            return np.asarray(constant & (np.abs(entries) <= hidden))

    def _accuse(self, mode: Leg, which: Indices, at_kink: Bools, smooth: Bools, hull: tuple[Floats, Floats]) -> None:
        """Confirm disagreements, at kinks and elsewhere, and mark those without an explanation as wrong."""
        everything = np.flatnonzero((at_kink | smooth).any(axis=1))
        accused = everything[: min(tol.ACCUSED, self.function.most_deep)]
        self.findings.left = max(self.findings.left, len(everything) - len(accused))
        if not len(accused):
            return
        which, at_kink, smooth = which[accused], at_kink[accused], smooth[accused]
        slices, noise, evaluate = self.slices.pick(which), self._noise(which), self.function.evaluate
        entries, slack = (array[which] for array in self._entries(mode))
        first, second = self.estimate.pick(which), confirming_estimate(evaluate, slices, noise)
        usual = np.median(self.samples.scales, axis=0)
        low, high = slopes_around(evaluate, slices, self.function.inputs, usual, self.function.seed)
        cancelled = tol.CANCELLATION_SEEN * self._cancelled(mode, which)
        spread = np.fmax(self._rounding_spread(mode, which, slack), cancelled)
        spread = spread + tol.GRAIN_SHARE * self._at_pairs(self.findings.grain)[which]
        with np.errstate(all="ignore"):
            off = (np.abs(entries - one.slope) - tol.CONFIRM_BARS * one.bar for one in (second, first))
            distance = np.fmin(*off) - slack - tol.CONFIRM_SPREAD * spread
            around = (entries >= low - slack) & (entries <= high + slack)
            outside = np.maximum(hull[0][accused] - entries, entries - hull[1][accused]) - slack
        confirmed = self._is_sharp(second, which) & ~(distance <= 0.0)
        confirmed &= ~noise_excuses(self.ladder.pick(which), first, entries, slack, noise)
        wrong = smooth & confirmed & ~around & ~self._is_overlooked(entries, slack, which)
        bad = at_kink & ~(outside <= 0.0) & ~around
        scattered = self._scatter(mode, which, wrong | bad)
        wrong &= ~(distance <= scattered)
        bad &= ~(outside <= scattered)
        self._set(mode, around & (at_kink | smooth), State.KINK, which)
        self._set(mode, wrong, State.WRONG, which)
        self._set(mode, bad, State.KINK_BAD, which)
        for place, result in np.argwhere(wrong | bad):
            pair = int(which[place])
            key = (int(self.pairs[pair, 0]), int(result), int(self.pairs[pair, 1]))
            self.findings.curves[key] = (self.ladder.widths[pair], self.ladder.slope[pair, :, result])

    def _scatter(self, mode: Leg, which: Indices, wrong: Bools) -> Floats:
        """Return the scatter that rounding may cause in finite entries that seem wrong, where values are noisy."""
        far = np.zeros(wrong.shape)
        noisy = wrong & (self._noise(which) > tol.NOISY) & np.isfinite(self._entries(mode)[0][which])
        some = which[noisy.any(axis=1)]
        if not len(some):
            return far

        def entries(rows: Floats) -> Floats:
            columns = np.repeat(self.pairs[some, 1], len(rows) // len(some))
            return self.function.derivatives[mode].by_input(rows, columns)

        widths = self.ladder.widths[some, self.estimate.level[some].max(axis=1)]
        far[noisy.any(axis=1)] = scatter(entries, self.slices.rows[some], self.slices.columns[some], widths)
        return np.where(noisy, far, 0.0)

    def _rounding_spread(self, mode: Leg, which: Indices, slack: Floats) -> Floats:
        """Return the change of entries as inputs move by a few ulps; 0 for entries that are wrong only at the sample.

        Rounding does not explain an entry that is right at all moved inputs.
        """
        rng = np.random.default_rng(self.function.seed + 1)
        base, columns, inputs = self.slices.rows[which], self.pairs[which, 1], self.function.inputs
        entries = self._entries(mode)[0][which]
        off = np.abs(entries - self.estimate.slope[which])
        spread, worst = (np.zeros(off.shape) for _ in range(2))
        others = np.zeros(off.shape, np.int64)

        def places() -> Iterator[tuple[Floats, Indices]]:
            for _ in range(tol.SPREAD_PLACES):
                rows = base.copy()
                ulps = rng.integers(-tol.SPREAD_ULPS, tol.SPREAD_ULPS + 1, (len(base), len(inputs)))
                rows[:, inputs] *= 1.0 + ulps * tol.ULP64
                yield rows, columns

        for moved in evaluate_copies(self.function.derivatives[mode].by_input, places()):
            with np.errstate(all="ignore"):
                spread = np.fmax(spread, np.abs(moved - entries))
                elsewhere = ~(np.abs(moved - entries) <= tol.SPREAD_SAME * off)
                error = np.abs(moved - self.estimate.slope[which])
            worst = np.where(elsewhere, np.maximum(worst, error), worst)
            others += elsewhere
        with np.errstate(all="ignore"):
            alone = others >= tol.SPREAD_PLACES // 2
            alone &= tol.CALM * (worst + self.estimate.bar[which] + slack) <= off
            sizes = np.fmax.reduce(np.abs(self.jacobians[mode]), axis=2)
            usual = np.median(np.where(np.isfinite(sizes), sizes, 0.0), axis=0)
            alone &= off > tol.CALM_LEAST * np.fmax(sizes[self.pairs[which, 0]], usual)
        return np.where(np.isfinite(spread) & ~alone, spread, 0.0)

    def _cancelled(self, mode: Leg, which: Indices) -> Floats:
        """Return the rounding of terms that cancel out."""
        base, derivative = self.slices.rows[which], self.function.derivatives[mode]
        sizes = np.ones((len(base), self.jacobians[mode].shape[1 if mode is Leg.REVERSE else 2]))
        rng = np.random.default_rng(2)
        left = spread_by_weights(derivative, base, sizes, tol.ULP64, rng, tol.SPREAD_PLACES**2)
        return np.asarray(np.fmax(left, np.median(left, axis=0))[np.arange(len(which)), :, self.pairs[which, 1]])

    def _is_sharp(self, estimate: Estimate, which: Indices | None = None, *, still: bool = True) -> Bools:
        """Return True for slopes that are known well enough to compare with, of all or some of the pairs.

        With ``still``, a slope counts as zero if it is small beside what the function does in large windows.
        """
        which = np.arange(len(self.pairs)) if which is None else which
        samples, scales = self.pairs[which, 0], self.slices.scales[which][:, None]
        with np.errstate(all="ignore"):
            all_scales = self.samples.scales[samples][:, None, self.function.inputs]
            moves = np.nan_to_num(np.abs(self.findings.expected[samples]) * all_scales).max(axis=2)
            moves = np.fmax(moves, tol.VALUE_SHARE * np.abs(self.values[samples]))
            nothing = estimate.bar * scales <= tol.NOTHING_DEEP * tol.NOTHING * moves
            in_large = self.ladder.moves[which, : tol.LARGE_WINDOWS]
            in_large = np.where(np.isfinite(in_large), in_large, 0.0).max(axis=1, initial=0.0)
            if still:
                nothing |= (np.abs(estimate.slope) <= estimate.bar) & (estimate.bar * scales <= tol.STILL * in_large)
            known = (estimate.bar <= tol.CERTAIN * np.abs(estimate.slope)) | nothing
            return np.asarray(known & np.isfinite(estimate.slope))

    @staticmethod
    def _is_near(estimate: Estimate, entries: Floats, slack: Floats) -> Bools:
        """Return True for entries within the error bar of an estimate."""
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(entries - estimate.slope) <= estimate.bar + slack)

    def _noise(self, which: Indices) -> Floats:
        return np.asarray(self.function.noise[self.pairs[which, 0]])

    def _entries(self, mode: Leg) -> tuple[Floats, Floats]:
        """Return a mode's entries at the pairs, and how far off they may be."""
        jacobian = self.jacobians[mode]
        slack = entry_slack(jacobian, self.samples.rows[:, self.function.inputs], self.function.share)
        entries = self.function.unclipped(mode, self._at_pairs(jacobian), self.estimate.slope)
        return entries, self._at_pairs(slack)

    def _at_pairs(self, entries: Floats) -> Floats:
        return np.asarray(entries[self.pairs[:, 0], :, self.pairs[:, 1]])

    def _has(self, mode: Leg, state: State) -> Bools:
        return np.asarray(self.findings.states[mode][self.pairs[:, 0], :, self.pairs[:, 1]] == state)

    def _set(self, mode: Leg, where: Bools, state: State, which: Indices | None = None) -> None:
        """Set the state of entries that are undecided, of all or some of the pairs."""
        which = np.arange(len(self.pairs)) if which is None else which
        states = self.findings.states[mode]
        samples, result, columns = self._index(which, where)
        undecided = states[samples, result, columns] == State.UNDECIDED
        states[samples[undecided], result[undecided], columns[undecided]] = state

    def _index(self, which: Indices, where: Bools) -> tuple[Indices, Indices, Indices]:
        """Return the samples, results and inputs of entries of some of the pairs."""
        place, result = np.nonzero(where)
        return self.pairs[which[place], 0], result, self.pairs[which[place], 1]

    def _note_expected(self, estimate: Estimate, sharp: Bools) -> None:
        """Keep estimates that are more certain than those of the screen, or contradict them.

        A large window of the screen overlooks structure that is smaller than it.
        """
        for pair, (sample, column) in enumerate(self.pairs):
            known, error = (a[sample, :, column] for a in (self.findings.expected, self.findings.error))
            with np.errstate(all="ignore"):
                agrees = np.abs(known - estimate.slope[pair]) <= error + estimate.bar[pair]
            better = sharp[pair] & ~(agrees & (error < estimate.bar[pair]))
            self.findings.expected[sample, better, column] = estimate.slope[pair, better]
            self.findings.error[sample, better, column] = estimate.bar[pair, better]

    def _forget_expected(self, which: Indices) -> None:
        """Forget estimates that no mode confirms, where none is wrong."""
        where = np.all([self._has(mode, State.UNDECIDED)[which] for mode in self.jacobians], axis=0)
        entries = self._index(which, where)
        self.findings.expected[entries], self.findings.error[entries] = np.nan, np.inf

    def _note_interval(self, which: Indices, where: Bools, low: Floats, high: Floats) -> None:
        """Keep the interval of slopes at kinks and jumps."""
        entries = self._index(which, where)
        self.findings.low[entries], self.findings.high[entries] = low[where], high[where]
