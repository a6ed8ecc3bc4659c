"""Derivatives against the oracle, entry by entry: what legs found goes in, what became of every entry comes out.

Agreement with a sharp estimate settles an entry at once. Disagreement does not: it is looked at with all windows, with
other nodes, from both sides and in the neighbourhood, before it is called wrong. So an accusation never rests on one
estimate, and kinks, jumps, noise and the edges of a domain are told apart from mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import Findings, State
from slangad.compiler.check.reference.differences import (
    Estimate,
    Places,
    climb,
    look_again,
    look_deep,
    neighbourhood,
    pick,
    plausible,
    quantised,
    side,
)
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.check.reference.rounding import nearby, rounded, scatter
from slangad.compiler.check.reference.stencil import central
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.functions import Evaluate, JacobianOf
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.differences import Slopes

    States = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Examiner:
    """What it takes to examine one subject.

    Attributes:
        evaluate: The differentiable results of rows of inputs.
        inputs: The differentiable columns.
        again: Each leg's Jacobians for other rows.
        noise: How much of a value may be rounding, by samples and results.
        most_pairs: Pairs of sample and input to look at; ``most_deep`` those to look at with all windows.
    """

    evaluate: Evaluate
    inputs: npt.NDArray[np.int64]
    again: Mapping[Leg, JacobianOf]
    noise: Floats
    seed: int = 0
    most_pairs: int = tol.PAIRS
    most_deep: int = tol.DEEP

    def examine(self, samples: Samples, values: Floats, found: Mapping[Leg, Floats]) -> Findings:
        """Hold every leg's Jacobians against the oracle."""
        shape = (len(samples.rows), values.shape[1], len(self.inputs))
        finite = np.asarray(np.isfinite(values).all(axis=1))
        empty = np.full(shape, np.nan)
        findings = Findings(
            empty,
            np.full(shape, np.inf),
            empty.copy(),
            empty.copy(),
            {leg: np.zeros(shape, np.int8) for leg in found},
            finite,
            jumps=np.zeros(shape[0], bool),
            looked=np.zeros((shape[0], shape[2]), bool),
            grain=tol.GRAIN * np.abs(values)[:, :, None] / samples.scales[:, None, self.inputs],
        )
        if finite.any() and len(self.inputs):
            self._screen(samples, values, found, findings)
            self._deepen(samples, values, found, findings)
        return findings

    def _screen(self, samples: Samples, values: Floats, found: Mapping[Leg, Floats], findings: Findings) -> None:
        which = np.flatnonzero(findings.finite)
        pairs = self._chosen(len(which))
        places = _places(samples, which[pairs[:, 0]], self.inputs[pairs[:, 1]])
        slopes = climb(self.evaluate, places, tol.SCREEN_LEVELS, central())
        shape = (len(tol.SCREEN_LEVELS), len(which), values.shape[1], len(self.inputs))
        slope, bar = np.full(shape, np.nan), np.full(shape, np.inf)
        for level in range(len(tol.SCREEN_LEVELS)):
            slope[level, pairs[:, 0], :, pairs[:, 1]] = slopes.slope[:, level]
            bar[level, pairs[:, 0], :, pairs[:, 1]] = slopes.bar[:, level]
        findings.looked[which[pairs[:, 0]], pairs[:, 1]] = True
        scales = samples.scales[which][:, self.inputs]
        reach = _reach(slope, bar, scales, values[which])
        bar = np.where(np.isfinite(slope), bar, np.inf)
        usable = (bar <= tol.SHARP * np.abs(slope)) | (bar * scales[:, None, :] <= tol.NOTHING * reach[:, :, None])
        with np.errstate(all="ignore"):
            best = np.argmin(np.where(usable, bar, np.inf), axis=0)
        expected = np.take_along_axis(slope, best[None], axis=0)[0]
        error = np.take_along_axis(np.where(usable, bar, np.inf), best[None], axis=0)[0]
        findings.expected[which], findings.error[which] = np.where(np.isfinite(error), expected, np.nan), error
        sharp = np.isfinite(slope) & (bar <= tol.SHARP * np.abs(slope))
        for leg, jacobian in found.items():
            own, slack = jacobian[which], tolerance(jacobian, samples.rows[:, self.inputs])[which]
            with np.errstate(all="ignore"):
                near = sharp & (np.abs(own - slope) <= bar + slack)
                nothing = (np.abs(own) <= error) & (np.abs(expected) <= error) & np.isfinite(error)
            findings.states[leg][which] = np.where(near.any(axis=0) | nothing, State.OK, State.UNSEEN)

    def _chosen(self, count: int) -> npt.NDArray[np.int64]:
        """Pairs of sample and input to look at: all if they are few, else as many of each input, from all over."""
        columns = len(self.inputs)
        if count * columns <= self.most_pairs:
            return np.stack([np.repeat(np.arange(count), columns), np.tile(np.arange(columns), count)], axis=1)
        each = max(tol.PAIRS_EACH, self.most_pairs // columns)
        rng = np.random.default_rng(self.seed)
        parts = [
            np.stack([rng.permutation(count)[:each], np.full(min(each, count), column)], axis=1)
            for column in range(columns)
        ]
        return np.concatenate(parts)

    def _deepen(self, samples: Samples, values: Floats, found: Mapping[Leg, Floats], findings: Findings) -> None:
        unseen = np.any([states == State.UNSEEN for states in findings.states.values()], axis=0)
        unseen &= findings.finite[:, None, None] & findings.looked[:, None, :]
        pairs = np.argwhere(unseen.any(axis=1))
        if not len(pairs):
            return
        for states in findings.states.values():
            states[unseen & (states == State.UNSEEN)] = State.UNDECIDED
        pairs = self._spread(pairs)
        places = _places(samples, pairs[:, 0], self.inputs[pairs[:, 1]])
        slopes, estimate = look_deep(self.evaluate, places, self.noise[pairs[:, 0]])
        Deep(self, samples, values, found, findings, pairs, places, slopes, estimate).settle()

    def _spread(self, pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """At most so many pairs of sample and input, from all over."""
        if len(pairs) <= self.most_deep:
            return pairs
        order = np.random.default_rng(self.seed).permutation(len(pairs))[: self.most_deep]
        return pairs[np.sort(order)]


def tolerance(jacobian: Floats, inputs: Floats | None = None) -> Floats:
    """What entries may be off besides the bar: constants of float32, relative to themselves and to their usual size.

    Infinite ones may not be further off than others: what is expected is finite.
    With ``inputs``, of shape (samples, inputs), where an entry is large elsewhere only, that is no measure of it.
    """
    with np.errstate(all="ignore"):
        sizes = np.where(np.isfinite(jacobian), np.abs(jacobian), np.nan)
        usual = np.broadcast_to(np.nan_to_num(known_median(sizes)), sizes.shape)
        if inputs is not None:
            usual = np.minimum(usual, tol.FADED * nearby(np.where(np.isnan(sizes), usual, sizes), inputs))
    own = np.where(np.isinf(jacobian), 0.0, np.abs(jacobian))
    return np.asarray(tol.CONSTANTS * own + tol.USUAL_SHARE * tol.CONSTANTS * usual + tol.UNDERFLOW)


def _places(samples: Samples, which: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> Places:
    return Places(samples.rows[which], columns, samples.scales[which, columns])


def _reach(slope: Floats, bar: Floats, scales: Floats, values: Floats) -> Floats:
    """How much a result can move: by the input that moves it most; shape (samples, results)."""
    sharp = np.where(np.isfinite(slope) & (bar <= tol.SHARP * np.abs(slope)), np.abs(slope), 0.0).max(axis=0)
    moved = (sharp * scales[:, None, :]).max(axis=2)
    return np.asarray(np.maximum(moved, tol.VALUE_SHARE * np.abs(values)))


@dataclass(frozen=True, slots=True)
class Deep:
    """A second look at pairs of sample and input that the screen left open; arrays are (pairs, results)."""

    examiner: Examiner
    samples: Samples
    values: Floats
    found: Mapping[Leg, Floats]
    findings: Findings
    pairs: npt.NDArray[np.int64]
    places: Places
    slopes: Slopes
    estimate: Estimate

    def settle(self) -> None:
        """Settle every pair, as far as it can be."""
        sharp = self._sharp(self.estimate)
        self._note(self.estimate, sharp)
        open_ = np.zeros(sharp.shape, bool)
        for leg in self.found:
            own, slack = self._own(leg)
            with np.errstate(all="ignore"):
                near = sharp & (np.abs(own - self.estimate.slope) <= self.estimate.bar + slack)
            self._set(leg, near, State.OK)
            open_ |= self._is(leg, State.UNDECIDED)
        rows = np.flatnonzero(open_.any(axis=1))
        if len(rows):
            self._from_both_sides(rows[: self.examiner.most_deep], sharp)
            self._forget(rows)

    def _from_both_sides(self, rows: npt.NDArray[np.int64], sharp: Bools) -> None:
        places = self.places.pick(rows)
        noise, evaluate = self._noise(rows), self.examiner.evaluate
        (left, below, doubt), (right, above, more) = (side(evaluate, places, sign, noise) for sign in (-1, 1))
        known_left, known_right = self._sharp(left, rows), self._sharp(right, rows)
        with np.errstate(all="ignore"):
            low = np.fmin(left.slope, right.slope)
            high = np.fmax(left.slope, right.slope)
            slack = np.where(known_left, left.bar, 0.0) + np.where(known_right, right.bar, 0.0)
            here = self._here(rows)
            apart = np.fmax(np.abs(below - here), np.abs(above - here))
            jump = known_left & known_right & (apart > doubt + more + tol.SIDE_VALUE * np.abs(here))
            bend = known_left & known_right & ~jump
            bend &= high - low > 2 * slack + tol.BEND * np.maximum(abs(low), abs(high))
        known = pick(self.slopes, rows), self.estimate.pick(rows)
        for leg in self.found:
            own, spare = (a[rows] for a in self._own(leg))
            with np.errstate(all="ignore"):
                between = (own >= low - slack - spare) & (own <= high + slack + spare)
            undecided = self._is(leg, State.UNDECIDED)[rows]
            stairs = self._on_stairs(own, spare, (left, right), rows)
            self._set(leg, undecided & (jump | stairs), State.JUMP, rows)
            self._set(leg, undecided & bend & between, State.KINK, rows)
            suspect = undecided & ~between & bend
            plain = undecided & ~bend & ~jump & ~stairs & sharp[rows] & ~((own == 0.0) & quantised(*known))
            self._accuse(leg, rows, suspect, plain, (low - slack, high + slack))
        self._note_kinks(rows, bend | jump, low - slack, high + slack)
        self.findings.jumps[self.pairs[rows[jump.any(axis=1)], 0]] = True

    def _on_stairs(
        self, own: Floats, spare: Floats, sides: tuple[Estimate, Estimate], rows: npt.NDArray[np.int64]
    ) -> Bools:
        """Whether a slope is right on both sides, and another one only across steps that are finer than windows."""
        across = self.estimate.slope[rows]
        size = tol.STAIRS * np.abs(across)
        with np.errstate(all="ignore"):
            fine = [
                (one.bar <= size)
                & (np.abs(one.slope - across) > 2 * (one.bar + self.estimate.bar[rows]) + size)
                & (np.abs(own - one.slope) <= one.bar + spare)
                for one in sides
            ]
        return np.asarray(fine[0] & fine[1])

    def _accuse(
        self, leg: Leg, rows: npt.NDArray[np.int64], suspect: Bools, plain: Bools, hull: tuple[Floats, Floats]
    ) -> None:
        """Look at what disagrees with other nodes and in the neighbourhood; call wrong what is left."""
        everything = np.flatnonzero((suspect | plain).any(axis=1))
        accused = everything[: min(tol.ACCUSED, self.examiner.most_deep)]
        self.findings.left = max(self.findings.left, len(everything) - len(accused))
        if not len(accused):
            return
        which = rows[accused]
        places = self.places.pick(which)
        own, slack = (a[which] for a in self._own(leg))
        noise, evaluate = self._noise(which), self.examiner.evaluate
        again = look_again(evaluate, places, noise)
        usual = np.median(self.samples.scales, axis=0)
        low, high = neighbourhood(evaluate, places, self.examiner.inputs, usual, self.examiner.seed)
        wobble = (
            np.fmax(self._wobble(leg, which, slack), tol.CANCELLATION_SEEN * self._rounded(leg, which))
            + tol.GRAIN_SHARE * self._at_pairs(self.findings.grain)[which]
        )
        first = self.estimate.pick(which)
        with np.errstate(all="ignore"):
            off = (np.abs(own - one.slope) - tol.CONFIRM_BARS * one.bar for one in (again, first))
            far = np.fmin(*off) - slack - tol.CONFIRM_SPREAD * wobble
            around = (own >= low - slack) & (own <= high + slack)
            beyond = np.maximum(hull[0][accused] - own, own - hull[1][accused]) - slack
        twice = self._sharp(again, which) & ~(far <= 0.0)
        twice &= ~plausible(pick(self.slopes, which), first, own, slack, noise)
        wrong = plain[accused] & twice & ~around
        bad = suspect[accused] & ~(beyond <= 0.0) & ~around
        spare = self._scattered(leg, which, wrong | bad)
        wrong &= ~(far <= spare)
        bad &= ~(beyond <= spare)
        self._set(leg, around & (suspect | plain)[accused], State.KINK, which)
        self._set(leg, wrong, State.WRONG, which)
        self._set(leg, bad, State.KINK_BAD, which)
        for row, result in np.argwhere(wrong | bad):
            place = int(which[row])
            key = (int(self.pairs[place, 0]), int(result), int(self.pairs[place, 1]))
            self.findings.curves[key] = (self.slopes.widths[place], self.slopes.slope[place, :, result])

    def _scattered(self, leg: Leg, which: npt.NDArray[np.int64], wrong: Bools) -> Floats:
        """How far rounding may bring what seems wrong off, where values are noisy, too."""
        far = np.zeros(wrong.shape)
        noisy = wrong & (self._noise(which) > tol.NOISY)
        some = which[noisy.any(axis=1)]
        if not len(some):
            return far

        def entries(rows: Floats) -> Floats:
            columns = np.repeat(self.pairs[some, 1], len(rows) // len(some))
            return self.examiner.again[leg](rows)[np.arange(len(rows)), :, columns]

        widths = self.slopes.widths[some, self.estimate.level[some].max(axis=1)]
        far[noisy.any(axis=1)] = scatter(entries, self.places.rows[some], self.places.columns[some], widths)
        return np.where(noisy, far, 0.0)

    def _noise(self, which: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(self.examiner.noise[self.pairs[which, 0]])

    def _wobble(self, leg: Leg, which: npt.NDArray[np.int64], slack: Floats) -> Floats:
        """How far the derivative moves when the inputs move by rounding: what its own rounding may make of it.

        Where it is right at all the places it moves to, it is no rounding that makes it wrong at the sample.
        """
        rng = np.random.default_rng(self.examiner.seed + 1)
        base, columns = self.places.rows[which], self.pairs[which, 1]
        own = self._own(leg)[0][which]
        off = np.abs(own - self.estimate.slope[which])
        spread, worst = (np.zeros(off.shape) for _ in range(2))
        others = np.zeros(off.shape, np.int64)
        for _ in range(tol.SPREAD_PLACES):
            rows = base.copy()
            rows[:, self.examiner.inputs] *= (
                1.0
                + rng.integers(-tol.SPREAD_ULPS, tol.SPREAD_ULPS + 1, (len(base), len(self.examiner.inputs)))
                * tol.ULP64
            )
            moved = self.examiner.again[leg](rows)[np.arange(len(which)), :, columns]
            with np.errstate(all="ignore"):
                spread = np.fmax(spread, np.abs(moved - own))
                elsewhere = ~(np.abs(moved - own) <= tol.SPREAD_SAME * off)
                error = np.abs(moved - self.estimate.slope[which])
            worst = np.where(elsewhere, np.maximum(worst, error), worst)
            others += elsewhere
        with np.errstate(all="ignore"):
            calm = (others >= tol.SPREAD_PLACES // 2) & (tol.CALM * (worst + self.estimate.bar[which] + slack) <= off)
            sizes = np.fmax.reduce(np.abs(self.found[leg]), axis=2)
            usual = np.median(np.where(np.isfinite(sizes), sizes, 0.0), axis=0)
            calm &= off > tol.CALM_LEAST * np.fmax(sizes[self.pairs[which, 0]], usual)
        return np.where(np.isfinite(spread) & ~calm, spread, 0.0)

    def _rounded(self, leg: Leg, which: npt.NDArray[np.int64]) -> Floats:
        """What rounding leaves of terms that cancel out."""
        base, columns = self.places.rows[which], self.pairs[which, 1]
        sizes = np.ones((len(base), self.found[leg].shape[1 if leg is Leg.REVERSE else 2]))
        again, rng = self.examiner.again[leg], np.random.default_rng(2)
        left = rounded(lambda s: again(base, s), sizes, tol.ULP64, rng, tol.SPREAD_PLACES**2)
        return np.asarray(np.fmax(left, np.median(left, axis=0))[np.arange(len(which)), :, columns])

    def _sharp(self, estimate: Estimate, rows: npt.NDArray[np.int64] | None = None) -> Bools:
        """Which slopes are known well enough to hold something against them."""
        which = np.arange(len(self.pairs)) if rows is None else rows
        samples = self.pairs[which, 0]
        scales = self.places.scales[which][:, None]
        with np.errstate(all="ignore"):
            scales_ = self.samples.scales[samples][:, None, self.examiner.inputs]
            others = np.nan_to_num(np.abs(self.findings.expected[samples]) * scales_).max(axis=2)
            reach = np.fmax(others, tol.VALUE_SHARE * np.abs(self.values[samples]))
            nothing = estimate.bar * scales <= tol.NOTHING_DEEP * tol.NOTHING * reach
            still = estimate.bar * scales <= tol.STILL * self._moves(which)
            nothing |= (np.abs(estimate.slope) <= estimate.bar) & still
            known = (estimate.bar <= tol.CERTAIN * np.abs(estimate.slope)) | nothing
            return np.asarray(known & np.isfinite(estimate.slope))

    def _moves(self, which: npt.NDArray[np.int64]) -> Floats:
        """How far the results move along the inputs in the wide windows."""
        moves = self.slopes.moves[which, : tol.WIDE_LEVELS]
        return np.asarray(np.where(np.isfinite(moves), moves, 0.0).max(axis=1, initial=0.0))

    def _here(self, rows: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(self.values[self.pairs[rows, 0]])

    def _own(self, leg: Leg) -> tuple[Floats, Floats]:
        jacobian = self.found[leg]
        slack = tolerance(jacobian, self.samples.rows[:, self.examiner.inputs])
        return self._at_pairs(jacobian), self._at_pairs(slack)

    def _at_pairs(self, entries: Floats) -> Floats:
        return np.asarray(entries[self.pairs[:, 0], :, self.pairs[:, 1]])

    def _is(self, leg: Leg, state: State) -> Bools:
        return np.asarray(self.findings.states[leg][self.pairs[:, 0], :, self.pairs[:, 1]] == state)

    def _set(self, leg: Leg, where: Bools, state: State, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Give entries that are undecided a state."""
        which = np.arange(len(self.pairs)) if rows is None else rows
        states = self.findings.states[leg]
        place, result = np.nonzero(where)
        samples, columns = self.pairs[which[place], 0], self.pairs[which[place], 1]
        undecided = states[samples, result, columns] == State.UNDECIDED
        states[samples[undecided], result[undecided], columns[undecided]] = state

    def _note(self, estimate: Estimate, sharp: Bools) -> None:
        for pair, (sample, column) in enumerate(self.pairs):
            better = sharp[pair] & ~(self.findings.error[sample, :, column] < estimate.bar[pair])
            self.findings.expected[sample, better, column] = estimate.slope[pair, better]
            self.findings.error[sample, better, column] = estimate.bar[pair, better]

    def _forget(self, rows: npt.NDArray[np.int64]) -> None:
        """Tell nothing of what to expect where no leg confirms it and none is wrong."""
        place, result = np.nonzero(np.all([self._is(leg, State.UNDECIDED)[rows] for leg in self.found], axis=0))
        entries = self.pairs[rows[place], 0], result, self.pairs[rows[place], 1]
        self.findings.expected[entries], self.findings.error[entries] = np.nan, np.inf

    def _note_kinks(self, rows: npt.NDArray[np.int64], where: Bools, low: Floats, high: Floats) -> None:
        place, result = np.nonzero(where)
        samples, columns = self.pairs[rows[place], 0], self.pairs[rows[place], 1]
        self.findings.low[samples, result, columns] = low[place, result]
        self.findings.high[samples, result, columns] = high[place, result]
