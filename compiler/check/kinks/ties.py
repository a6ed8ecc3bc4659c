"""Ties of inputs: findings go in, and rows that are derivatives close by are no longer called wrong in them.

Where three inputs are equal, or two and one that carries no gradient, a function may have no kink along any of them and
no derivative all the same: the median of three equal numbers stays where it is as one of them moves, and each order
that they may have close by has another derivative. So where entries of tied inputs are accused, all entries of the
inputs that tie with them are held together against rows of derivatives close by, with the inputs in many orders. The
row that was found must be one of those or lie between them. Where they are all the same, nothing is excused.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import State
from slangad.compiler.check.reference.differences import Places, climb
from slangad.compiler.check.reference.stencil import central

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.entries import Examiner
    from slangad.compiler.report.model import Leg

    Integers = npt.NDArray[np.int64]


def look_at_ties(
    examiner: Examiner, samples: Samples, found: Mapping[Leg, Floats], findings: Findings, floating: Integers
) -> None:
    """Take back what was said of rows at ties; ``floating`` are the columns of numbers, also without gradient."""
    bad = (State.WRONG, State.KINK_BAD)
    left = min(tol.TIES, examiner.most_deep)
    for leg, states in findings.states.items():
        for sample, result in np.argwhere(np.isin(states, bad).any(axis=2)):
            accused = np.flatnonzero(np.isin(states[sample, result], bad))
            tied = tied_with(samples.rows[sample], examiner.inputs[accused], floating)
            if tied is None or left <= 0:
                continue
            left -= 1
            own = found[leg][sample, result]
            if _Tie(examiner, samples, int(sample), int(result), tied).is_close_by(own, accused):
                states[sample, result, accused] = State.KINK


def tied_with(row: Floats, columns: Integers, floating: Integers) -> Integers | None:
    """The columns whose numbers are those of some columns, or minus them; None if one of these ties with nothing."""
    sizes = np.abs(row[floating])
    same = sizes[None, :] == np.abs(row[columns])[:, None]
    if not len(columns) or (same.sum(axis=1) < 2).any():
        return None
    return np.asarray(floating[same.any(axis=0)])


@dataclass(frozen=True, slots=True)
class _Tie:
    """A result at a sample where inputs tie, ``tied`` as columns."""

    examiner: Examiner
    samples: Samples
    sample: int
    result: int
    tied: Integers

    def is_close_by(self, own: Floats, accused: Integers) -> bool:
        """Whether the entries of tied inputs are together those of a place close by, or lie between some."""
        entries = self._entries(own, accused)
        if not np.isfinite(own[entries]).all():
            return False
        rng = np.random.default_rng(self.sample)
        count = int(np.clip(tol.TIE_SLOPES // len(entries), *tol.TIE_PLACES))
        moves = self._moves(own, count, rng)
        rows = np.zeros((0, len(entries)))
        for _ in range(min(tol.TIE_ROUNDS, len(self.tied))):
            more = self._rows_at(moves, entries)
            known = np.isfinite(more).all(axis=1)
            moves, more = moves[known], more[known]
            rows = np.concatenate([rows, more])
            sizes = np.abs(rows).max(axis=0, initial=0.0)
            if not len(more) or (np.ptp(rows, axis=0) <= tol.TIE_SAME * sizes).all():
                return False
            slack = tol.TIE_SLACK * sizes + tol.TIE_ZERO * sizes.max()
            if lies_between(own[entries] / slack, rows / slack):
                return True
            moves = _swapped(moves[np.abs((more - own[entries]) / slack).sum(axis=1).argmin()], count, rng)
        return False

    def _entries(self, own: Floats, accused: Integers) -> Integers:
        """The entries of the tied inputs; of very many the accused ones and the largest."""
        entries = np.flatnonzero(np.isin(self.examiner.inputs, self.tied))
        weights = np.where(np.isin(entries, accused), np.inf, np.abs(own[entries]))
        return np.sort(entries[np.argsort(-weights, kind="stable")[: tol.TIE_INPUTS]])

    def _rows_at(self, moves: Floats, entries: Integers) -> Floats:
        """What the entries are where the tied inputs are moved; infinite where that can't be told."""
        places = self._places(moves)
        columns = self.examiner.inputs[entries]
        rows = np.repeat(places, len(columns), axis=0)
        scales = np.tile(self.samples.scales[self.sample, columns], len(places))
        moved = Places(rows, np.tile(columns, len(places)), scales)
        slopes = climb(self.examiner.evaluate, moved, tol.NEAR_LEVELS, central())
        slope, bar = slopes.slope[:, :, self.result], slopes.bar[:, :, self.result]
        bar = np.where(np.isfinite(slope), bar, np.inf)
        best = bar.argmin(axis=1)[:, None]
        slope, bar = (np.take_along_axis(a, best, axis=1).reshape(len(places), -1) for a in (slope, bar))
        largest = np.abs(np.where(np.isfinite(bar), slope, 0.0)).max(initial=0.0)
        with np.errstate(all="ignore"):
            return np.where(bar <= tol.TIE_SLACK * np.abs(slope) + tol.TIE_ZERO * largest, slope, np.inf)

    def _places(self, moves: Floats) -> Floats:
        """The sample with its tied inputs moved apart."""
        row, tied = self.samples.rows[self.sample], self.tied
        sizes = np.maximum(np.abs(row[tied]), self.samples.scales[self.sample, tied])
        places = np.repeat(row[None], len(moves), axis=0)
        places[:, tied] += tol.TIE_RADIUS * moves * sizes
        return places

    def _moves(self, own: Floats, count: int, rng: np.random.Generator) -> Floats:
        """How far to move the tied inputs: in any order, and in that of their entries."""
        moves = rng.uniform(-1.0, 1.0, (count, len(self.tied)))
        for number, order in enumerate(self._orders(own, count // tol.TIE_ORDERED, rng)):
            moves[number, order] = np.sort(moves[number])
        return moves

    def _orders(self, own: Floats, count: int, rng: np.random.Generator) -> Iterator[Integers]:
        """Orders of the tied inputs by their entries, both ways; where these are equal, any."""
        entries = np.zeros(self.samples.rows.shape[1])
        entries[self.examiner.inputs] = own
        for number in range(count):
            key = entries[self.tied] * (1.0 if number % 2 else -1.0)
            yield np.lexsort((rng.random(len(key)), key))


def _swapped(move: Floats, count: int, rng: np.random.Generator) -> Floats:
    """One move with two of its numbers swapped, in all ways or in so many."""
    pairs = np.array(list(combinations(range(len(move)), 2)))
    pairs = pairs[rng.permutation(len(pairs))[:count]]
    moves = np.repeat(move[None], len(pairs), axis=0)
    which = np.arange(len(pairs))[:, None]
    moves[which, pairs] = move[pairs[:, ::-1]]
    return moves


def lies_between(point: Floats, points: Floats, slack: float = 1.0) -> bool:
    """Whether a point is a mixture of some, each of its coordinates within some slack.

    Least squares with shares that aren't negative (Lawson and Hanson): the share of one more point is let go up as long
    as that brings the mixture closer.
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
    """The best shares of the points that have one; some may lose theirs."""
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
