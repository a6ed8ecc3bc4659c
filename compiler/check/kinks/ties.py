"""Excuse rows of the Jacobian at ties of inputs: rows that are derivatives nearby are not wrong.

Three inputs are tied if they are equal; one of them may have no gradient. A function may have no kink along any of
them, and still no derivative. For example, the median of three equal numbers does not change as one of them moves. Each
order of the inputs nearby has another derivative. If entries of tied inputs are accused, the entries of all tied inputs
are compared with rows of derivatives nearby. These rows have the inputs in many orders. The row must be one of them, or
lie between them. If all rows nearby are the same, nothing is excused.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import State
from slangad.compiler.check.reference.differences import Slices, measure
from slangad.compiler.check.reference.stencil import central

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.function import ExaminedFunction
    from slangad.compiler.report.model import Leg


def excuse_ties(
    function: ExaminedFunction,
    samples: Samples,
    jacobians: Mapping[Leg, Floats],
    findings: Findings,
    floating: Indices,
) -> None:
    """Mark accused entries of rows that are derivatives close by as kinks; ``floating`` are the columns of floats."""
    bad = (State.WRONG, State.KINK_BAD)
    left = min(tol.TIES, function.most_deep)
    for mode, states in findings.states.items():
        for sample, result in np.argwhere(np.isin(states, bad).any(axis=2)):
            accused = np.flatnonzero(np.isin(states[sample, result], bad))
            tied = tied_with(samples.rows[sample], function.inputs[accused], floating)
            if tied is None or left <= 0:
                continue
            left -= 1
            row = jacobians[mode][sample, result]
            if _Tie(function, samples, int(sample), int(result), tied).is_close_by(row, accused):
                states[sample, result, accused] = State.KINK


def leave_ties_open(function: ExaminedFunction, samples: Samples, findings: Findings, floating: Indices) -> None:
    """Mark accused entries as undecided that kinks and ties might excuse: the time is over before that is known."""
    findings.cut += ("a close look at kinks",)
    for states in findings.states.values():
        states[states == State.KINK_BAD] = State.UNDECIDED
        for sample, result in np.argwhere((states == State.WRONG).any(axis=2)):
            accused = np.flatnonzero(states[sample, result] == State.WRONG)
            if tied_with(samples.rows[sample], function.inputs[accused], floating) is not None:
                states[sample, result, accused] = State.UNDECIDED


def tied_with(row: Floats, columns: Indices, floating: Indices) -> Indices | None:
    """Return columns with the magnitudes of some columns; None if one of these ties with nothing."""
    sizes = np.abs(row[floating])
    same = sizes[None, :] == np.abs(row[columns])[:, None]
    if not len(columns) or (same.sum(axis=1) < 2).any():
        return None
    return np.asarray(floating[same.any(axis=0)])


@dataclass(frozen=True, slots=True)
class _Tie:
    """A result at a sample where inputs tie; ``tied`` are their columns."""

    function: ExaminedFunction
    samples: Samples
    sample: int
    result: int
    tied: Indices

    def is_close_by(self, gradient: Floats, accused: Indices) -> bool:
        """Return True if the entries of tied inputs are those of a location close by, or lie between such rows."""
        entries = self._entries(gradient, accused)
        if not np.isfinite(gradient[entries]).all():
            return False
        rng = np.random.default_rng(self.sample)
        count = int(np.clip(tol.TIE_SLOPES // len(entries), *tol.TIE_PLACES))
        moves = self._moves(gradient, count, rng)
        farther, more = self._first_rows(moves, entries)
        relative = max(tol.TIE_SLACK, tol.TIE_BENT * tol.TIE_RADIUS * 2.0**farther)
        rows = np.zeros((0, len(entries)))
        for _ in range(min(tol.TIE_ROUNDS, len(self.tied))):
            known = np.isfinite(more).all(axis=1)
            moves, more = moves[known], more[known]
            rows = np.concatenate([rows, more])
            sizes = np.abs(rows).max(axis=0, initial=0.0)
            if not len(more) or (np.ptp(rows, axis=0) <= tol.TIE_SAME * sizes).all():
                return False
            slack = relative * sizes + _zero(farther) * sizes.max()
            if lies_between(gradient[entries] / slack, rows / slack):
                return True
            nearest = np.abs((more - gradient[entries]) / slack).sum(axis=1).argmin()
            moves = _swapped(moves[nearest], count, rng)
            more = self._rows_at(moves, entries, farther)
        return False

    def _first_rows(self, moves: Floats, entries: Indices) -> tuple[int, Floats]:
        """Return how much farther most rows are known despite rounding, in binary places, and the rows there."""
        best, most = (0, moves[:0, : len(entries)]), -1.0
        for farther in tol.FARTHER:
            rows = self._rows_at(moves, entries, farther)
            known = np.isfinite(rows).all(axis=1).mean()
            if known > most:
                best, most = (farther, rows), known
            if known >= tol.FARTHER_KNOWN:
                break
        return best

    def _entries(self, gradient: Floats, accused: Indices) -> Indices:
        """Return the positions of the tied inputs; of very many, the accused ones and those of the largest entries."""
        entries = np.flatnonzero(np.isin(self.function.inputs, self.tied))
        weights = np.where(np.isin(entries, accused), np.inf, np.abs(gradient[entries]))
        return np.sort(entries[np.argsort(-weights, kind="stable")[: tol.TIE_INPUTS]])

    def _rows_at(self, moves: Floats, entries: Indices, farther: int) -> Floats:
        """Return the entries where the tied inputs are moved; infinite where they are not known."""
        places = self._places(moves * 2.0**farther)
        columns = self.function.inputs[entries]
        rows = np.repeat(places, len(columns), axis=0)
        scales = np.tile(self.samples.scales[self.sample, columns], len(places))
        slices = Slices(rows, np.tile(columns, len(places)), scales)
        levels = [level - farther for level in tol.NEAR_LEVELS]
        ladder = measure(self.function.evaluate, slices, levels, central())
        slope, bar = ladder.slope[:, :, self.result], ladder.bar[:, :, self.result]
        bar = np.where(np.isfinite(slope), bar, np.inf)
        best = bar.argmin(axis=1)[:, None]
        slope, bar = (np.take_along_axis(a, best, axis=1).reshape(len(places), -1) for a in (slope, bar))
        largest = np.abs(np.where(np.isfinite(bar), slope, 0.0)).max(initial=0.0)
        with np.errstate(all="ignore"):
            return np.where(bar <= tol.TIE_SLACK * np.abs(slope) + _zero(farther) * largest, slope, np.inf)

    def _places(self, moves: Floats) -> Floats:
        """Return the sample with its tied inputs moved apart."""
        row, tied = self.samples.rows[self.sample], self.tied
        sizes = np.maximum(np.abs(row[tied]), self.samples.scales[self.sample, tied])
        places = np.repeat(row[None], len(moves), axis=0)
        places[:, tied] += tol.TIE_RADIUS * moves * sizes
        return places

    def _moves(self, gradient: Floats, count: int, rng: np.random.Generator) -> Floats:
        """Return random moves of the tied inputs, some in the order of their entries."""
        moves = rng.uniform(-1.0, 1.0, (count, len(self.tied)))
        for number, order in enumerate(self._orders(gradient, count // tol.TIE_ORDERED, rng)):
            moves[number, order] = np.sort(moves[number])
        return moves

    def _orders(self, gradient: Floats, count: int, rng: np.random.Generator) -> Iterator[Indices]:
        """Yield orders of the tied inputs by their entries, ascending and descending; of equal entries at random."""
        entries = np.zeros(self.samples.rows.shape[1])
        entries[self.function.inputs] = gradient
        for number in range(count):
            key = entries[self.tied] * (1.0 if number % 2 else -1.0)
            yield np.lexsort((rng.random(len(key)), key))


def _zero(farther: int) -> float:
    """Return the size of an entry that counts as 0, relative to the largest: rounding hides more at farther places."""
    return tol.TIE_SLACK if farther else tol.TIE_ZERO


def _swapped(move: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return a move with two of its numbers swapped, in all ways or in ``count`` of them."""
    pairs = np.array(list(combinations(range(len(move)), 2)))
    pairs = pairs[rng.permutation(len(pairs))[:count]]
    moves = np.repeat(move[None], len(pairs), axis=0)
    which = np.arange(len(pairs))[:, None]
    moves[which, pairs] = move[pairs[:, ::-1]]
    return moves


def lies_between(point: Floats, points: Floats, slack: float = 1.0) -> bool:
    """Return True if a point is a mixture of some points, up to a slack in every coordinate.

    Least squares with non-negative shares (Lawson and Hanson): the share of one more point grows as long as the mixture
    comes closer.
    """
    if (np.abs(points - point) <= slack).all(axis=1).any():
        return True
    heavy = tol.MIXTURE_WEIGHT * float(np.abs(points).max(initial=1.0))
    matrix = np.vstack([points.T, np.full(len(points), heavy)])
    target = np.append(point, heavy)
    shares = np.zeros(len(points))
    for _ in range(3 * len(points)):
        rest = target - matrix @ shares
        if (np.abs(rest[:-1]) <= slack).all() and abs(rest[-1]) <= tol.MIXTURE_SUM * heavy:
            return True
        gain = np.where(shares > 0.0, -np.inf, matrix.T @ rest)
        if gain.max() <= 0.0:
            return False
        shares[gain.argmax()] = np.finfo(np.float64).tiny
        shares = _settled(matrix, target, shares)
    return False


def _settled(matrix: Floats, target: Floats, shares: Floats) -> Floats:
    """Return the best shares of the points that have one; some may become zero."""
    while (used := shares > 0.0).any():
        best = np.zeros(len(shares))
        best[used] = np.linalg.lstsq(matrix[:, used], target, rcond=None)[0]
        if (best[used] > 0.0).all():
            return best
        falling = used & (best <= 0.0)
        steps = np.divide(shares, shares - best, out=np.full(len(shares), np.inf), where=falling)
        shares = np.maximum(shares + steps.min() * (best - shares), 0.0)
        shares[steps.argmin()] = 0.0
    return shares
