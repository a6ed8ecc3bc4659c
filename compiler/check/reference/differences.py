"""Estimate slopes of a function from its values, with error bars.

A window is a sample, a column to move and a half width. ``stencil`` has its nodes and the polynomial through the values
there. A ladder is a row of windows from large to small. No width is right for all functions, so the slope of every
window has an error bar. The slope of a ladder is that of its most certain window, unless a smaller window contradicts:
then the large one has overlooked structure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.arrays import stretches_of_rows, weighted
from slangad.compiler.check.reference.stencil import Stencil, central, confirming, one_sided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.functions import Evaluate


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of a function along one column each.

    Attributes:
        rows: The samples, shape (K, inputs).
        columns: The column that moves, shape (K,).
        scales: Powers of two about as large as that input is, shape (K,).
    """

    rows: Floats
    columns: Indices
    scales: Floats

    def pick(self, which: Bools | Indices) -> Slices:
        """Return some of the slices."""
        return Slices(self.rows[which], self.columns[which], self.scales[which])

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Slopes of windows of several widths, shape (K, levels, results) each.

    Attributes:
        widths: Half widths, shape (K, levels).
        slope: The slopes.
        bar: Half their error bars; infinite where a window shows nothing.
        values: The values of the polynomials at the samples.
        moves: The largest value in a window minus the smallest.
        sizes: The largest magnitude of a value in a window.
        steps: Most values in a window are equal.
    """

    widths: Floats
    slope: Floats
    bar: Floats
    values: Floats
    moves: Floats
    sizes: Floats
    steps: Bools

    def pick(self, which: Indices) -> Ladder:
        """Return the ladders of some of the slices."""
        return Ladder(
            self.widths[which],
            self.slope[which],
            self.bar[which],
            self.values[which],
            self.moves[which],
            self.sizes[which],
            self.steps[which],
        )

    @staticmethod
    def joined(parts: Sequence[Ladder]) -> Ladder:
        """Return the ladders of several lists of slices as one."""
        if not parts:
            none = np.zeros((0, 0, 0))
            return Ladder(none, none, none, none, none, none, none > 0.0)
        return Ladder(
            np.concatenate([part.widths for part in parts]),
            np.concatenate([part.slope for part in parts]),
            np.concatenate([part.bar for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.moves for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.steps for part in parts]),
        )

    def residues(self) -> Floats:
        """Return the residues of polynomials through the values, in the units of error bars."""
        return self.bar * self.widths[:, :, None]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A slope, half its error bar, and the level of its window; shape (K, results) each."""

    slope: Floats
    bar: Floats
    level: Indices

    def pick(self, which: Indices) -> Estimate:
        """Return the estimates of some of the slices."""
        return Estimate(self.slope[which], self.bar[which], self.level[which])


def measure(evaluate: Evaluate, slices: Slices, levels: Sequence[int], stencil: Stencil) -> Ladder:
    """Return the slopes of windows, ``levels`` binary places below the scale of each slice."""
    widths = slices.scales[:, None] * np.exp2(-np.array(levels, np.float64))[None, :]
    count, depth, nodes = len(slices), len(levels), len(stencil.nodes)
    step = max(1, tol.POINTS_AT_ONCE // (depth * nodes))
    parts = [
        _measure(
            evaluate, slices.pick(np.arange(start, min(count, start + step))), widths[start : start + step], stencil
        )
        for start in range(0, count, step)
    ]
    slope, bar, values, moves, sizes, steps = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Ladder(widths, slope, bar, values, moves, sizes, steps > 0)


def _measure(evaluate: Evaluate, slices: Slices, widths: Floats, stencil: Stencil) -> tuple[Floats, ...]:
    count, depth = widths.shape
    nodes = depth * len(stencil.nodes)
    moves = (widths[:, :, None] * stencil.nodes).reshape(count, nodes)
    parts = []
    for some in stretches_of_rows(count, nodes * slices.rows.shape[1]):
        base = np.repeat(slices.rows[some], nodes, axis=0)
        rows = base.copy()
        rows[np.arange(len(rows)), np.repeat(slices.columns[some], nodes)] += moves[some].reshape(-1)
        parts.append(evaluate(rows, base))
    values = np.concatenate(parts).reshape(count, depth, len(stencil.nodes), parts[0].shape[1]).swapaxes(2, 3)
    slope, bar = stencil.fit(values)
    exact = widths >= tol.WINDOW_GRAIN * np.abs(slices.rows[np.arange(count), slices.columns])[:, None]
    with np.errstate(all="ignore"):
        bar = np.where(exact[:, :, None], bar / widths[:, :, None], np.inf)
        moves, sizes = values.max(axis=-1) - values.min(axis=-1), np.abs(values).max(axis=-1)
        ordered = np.sort(values, axis=-1)
        equal = (ordered[..., 1:] == ordered[..., :-1]).sum(axis=-1)
        steps = (equal > values.shape[-1] // 2).astype(np.float64)
        return slope / widths[:, :, None], bar, weighted(values, stencil.value), moves, sizes, steps


def best_estimate(ladder: Ladder, noise: Floats | None = None) -> Estimate:
    """Return the most certain windows that no smaller ones contradict.

    Rounding makes a staircase of every function. Windows as small as a step show nothing of the slope. They do not
    count where larger ones are certain and the steps are low enough for rounding. Where no larger one is, the slope is
    uncertain by one step in the largest of them.

    Args:
        ladder: The windows.
        noise: Rounding of the values, relative, shape (K, results); None if unknown. If it is known, windows between
            two steps are recognised even if the steps are not level.
    """
    step = _rounding_step(ladder, noise)[:, None]
    on_step = ladder.steps & (step > 0.0)
    slopes = np.where(on_step, np.fmax(step, ladder.moves) / ladder.widths[:, :, None], np.inf)
    doubt = np.where(on_step, slopes.min(axis=1, keepdims=True), 0.0)
    if noise is not None:
        on_step |= _noise_before_drop(ladder, noise) > 0.0
    of_all = _most_certain(ladder, np.isfinite(ladder.bar))
    of_all = replace(of_all, bar=np.fmax(of_all.bar, _at_level(doubt, of_all.level)))
    if not on_step.any():
        return of_all
    of_large = _most_certain(ladder, np.isfinite(ladder.bar) & ~on_step)
    with np.errstate(all="ignore"):
        certain = of_large.bar <= tol.CERTAIN * np.abs(of_large.slope)
    return Estimate(
        np.where(certain, of_large.slope, of_all.slope),
        np.where(certain, of_large.bar, of_all.bar),
        np.where(certain, of_large.level, of_all.level),
    )


def has_stairs(ladder: Ladder, estimate: Estimate, noise: Floats) -> Bools:
    """Return True where windows smaller than that of an estimate show steps that are too high for rounding."""
    smaller = np.arange(ladder.slope.shape[1])[None, :, None] > estimate.level[:, None]
    stairs = ladder.steps & (ladder.moves > 0.0) & smaller
    return np.asarray(stairs.any(axis=1) & (_rounding_step(ladder, noise) == 0.0))


def _noise_before_drop(ladder: Ladder, noise: Floats) -> Floats:
    """Return, for windows between two steps of rounding, the noise of larger windows; 0 for other windows.

    In a window between two steps the noise drops at once.
    """
    before = np.zeros(ladder.slope.shape)
    with np.errstate(all="ignore"):
        residues = ladder.residues()
        level_noise = np.zeros(noise.shape)
        for level in range(tol.NOISE_WINDOWS, residues.shape[1]):
            larger = residues[:, level - tol.NOISE_WINDOWS : level]
            low, high = larger.min(axis=1), larger.max(axis=1)
            steady = (high <= tol.NOISE_CONSTANT * low) & (high <= noise * ladder.sizes[:, level - 1])
            level_noise = np.where(steady & (residues[:, level] * tol.NOISE_DROP <= low), low, level_noise)
            level_noise = np.where(residues[:, level] * tol.NOISE_DROP <= level_noise, level_noise, 0.0)
            before[:, level] = level_noise
    return before


def is_on_step(ladder: Ladder, estimate: Estimate, noise: Floats) -> Bools:
    """Return True where the window of an estimate is as small as a step of rounding."""
    return _step_at(ladder, estimate, noise) > 0.0


def _step_at(ladder: Ladder, estimate: Estimate, noise: Floats | None) -> Floats:
    """Return the height of the lowest step of rounding where the window of an estimate is as small as one, else 0."""
    return _at_level(np.where(ladder.steps, _rounding_step(ladder, noise)[:, None], 0.0), estimate.level)


def _rounding_step(ladder: Ladder, noise: Floats | None) -> Floats:
    """Return the height of the lowest step where that is low enough for rounding, else 0.

    Numbers on the way to a value may be larger than the value. They count as 1 as far as the noise of the value allows.
    """
    with np.errstate(all="ignore"):
        lowest = np.where(ladder.moves > 0.0, ladder.moves, np.inf).min(axis=1)
        sizes = ladder.sizes.max(axis=1)
        on_way = tol.ROUNDING_STEP if noise is None else np.fmin(tol.ROUNDING_STEP, _seen(noise) * sizes)
        return np.where(lowest <= np.fmax(tol.ROUNDING_STEP * sizes, on_way), lowest, 0.0)


def _seen(noise: Floats) -> Floats:
    """Return noise without the least that is always allowed."""
    return np.where(noise > tol.NOISE_LEAST, noise, 0.0)


def _most_certain(ladder: Ladder, usable: Bools) -> Estimate:
    """Return the window with the smallest bar among those that agree with all smaller ones."""
    depth = ladder.slope.shape[1]
    with np.errstate(all="ignore"):
        low, high = ladder.slope - ladder.bar, ladder.slope + ladder.bar
    allowed = np.ones(ladder.slope.shape[::2], bool)
    floor, roof = np.full(allowed.shape, -np.inf), np.full(allowed.shape, np.inf)
    least = np.full(allowed.shape, np.inf)
    chosen = np.zeros(allowed.shape, np.int64)
    for level in reversed(range(depth)):
        bar = ladder.bar[:, level]
        known = usable[:, level]
        fits = known & (low[:, level] <= roof) & (high[:, level] >= floor)
        allowed &= fits | ~known | (bar > tol.CONTRADICTING_BAR * least)
        use = allowed & fits
        floor = np.where(use, np.maximum(floor, low[:, level]), floor)
        roof = np.where(use, np.minimum(roof, high[:, level]), roof)
        better = use & (bar < least)
        least, chosen = np.where(better, bar, least), np.where(better, level, chosen)
    slope = _at_level(ladder.slope, chosen)
    return Estimate(np.where(np.isfinite(least), slope, np.nan), least, chosen)


def _at_level(levels: Floats, chosen: Indices) -> Floats:
    """Return the values of an array of all levels at one level of each slice and result."""
    return np.asarray(np.take_along_axis(levels, chosen[:, None, :], axis=1)[:, 0])


def one_sided_estimate(
    evaluate: Evaluate, slices: Slices, sign: int, noise: Floats | None = None
) -> tuple[Estimate, Floats, Floats]:
    """Return the slope on one side, the value to which the function tends from there, and its uncertainty.

    Args:
        evaluate: The function.
        slices: The slices through the samples.
        sign: 1 for the right side, -1 for the left.
        noise: The noise, as for ``best_estimate``; if it is known, slopes between two steps of rounding are uncertain.
    """
    ladder = measure(evaluate, slices, tol.LADDER, one_sided(sign))
    estimate = best_estimate(ladder, noise)
    widths = _at_level(ladder.widths[:, :, None], estimate.level)
    if noise is not None:
        step_slope = _at_level(_noise_before_drop(ladder, noise), estimate.level) / widths
        estimate = replace(estimate, bar=np.fmax(estimate.bar, step_slope))
    values = _at_level(ladder.values, estimate.level)
    with np.errstate(all="ignore"):
        sizes = np.fmax(np.abs(values), np.abs(estimate.slope) * widths)
        uncertainty = np.fmax(estimate.bar * widths, _step_at(ladder, estimate, noise)) + tol.SIDE_VALUE * sizes
    return estimate, np.where(np.isfinite(estimate.bar), values, np.nan), uncertainty


def noise_excuses(ladder: Ladder, estimate: Estimate, derivative: Floats, slack: Floats, noise: Floats) -> Bools:
    """Return True where a derivative agrees with a window that contradicts the estimate.

    The window must have no more noise than rounding may bring. The function as computed then has the estimated slope
    only between steps of its rounding. ``noise`` is relative to the values, shape (K, results).
    """
    with np.errstate(all="ignore"):
        quiet = ladder.residues() <= noise[:, None] * ladder.sizes
        contradicts = np.abs(ladder.slope - estimate.slope[:, None]) > ladder.bar + estimate.bar[:, None]
        agrees = np.abs(ladder.slope - derivative[:, None]) <= ladder.bar + slack[:, None]
    return np.asarray((quiet & contradicts & agrees & ~ladder.steps).any(axis=1))


def slopes_around(
    evaluate: Evaluate, slices: Slices, inputs: Indices, usual: Floats, seed: int
) -> tuple[Floats, Floats]:
    """Return the least and the largest slope close by; an empty interval where all slopes are the same.

    Args:
        evaluate: The function.
        slices: The slices through the samples.
        inputs: The columns to move.
        usual: The usual scale of every column.
        seed: That of the moves.
    """
    rng = np.random.default_rng(seed)
    radius = np.maximum(np.abs(slices.rows), usual) * tol.AROUND_RADIUS
    places, lows, highs = [], [], []
    for _ in range(tol.AROUND_PLACES):
        moves = rng.uniform(-1.0, 1.0, slices.rows.shape)
        rows = slices.rows.copy()
        rows[:, inputs] += (moves * radius)[:, inputs]
        places.append(rows)
    which = np.tile(np.arange(len(slices)), len(places))
    every = replace(slices.pick(which), rows=np.concatenate(places))
    ladders = measure(evaluate, every, tol.NEAR_LEVELS, central())
    for place in np.split(np.arange(len(every)), len(places)):
        ladder = ladders.pick(place)
        with np.errstate(all="ignore"):
            sizes = np.abs(ladder.slope)
            known = ladder.bar <= tol.CERTAIN * sizes + tol.AROUND_ZERO * sizes.max()
        lows.append(np.where(known, ladder.slope - ladder.bar, np.inf).min(axis=1))
        highs.append(np.where(known, ladder.slope + ladder.bar, -np.inf).max(axis=1))
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    with np.errstate(all="ignore"):
        same = high - low <= tol.AROUND_SAME * np.maximum(np.abs(low), np.abs(high))
    return np.where(same, np.inf, low), np.where(same, -np.inf, high)


def deep_estimate(evaluate: Evaluate, slices: Slices, noise: Floats) -> tuple[Ladder, Estimate]:
    """Return windows of all sizes, on both sides, and the best of them."""
    ladder = measure(evaluate, slices, tol.LADDER, central())
    return ladder, best_estimate(ladder, noise)


def confirming_estimate(evaluate: Evaluate, slices: Slices, noise: Floats) -> Estimate:
    """Return an estimate by windows of other sizes with other nodes, to confirm that of ``deep_estimate``."""
    levels = tuple(level + 1 for level in tol.LADDER)
    return best_estimate(measure(evaluate, slices, levels, confirming()), noise)


def power_of_two(sizes: Floats) -> Floats:
    """Return the powers of two at or below positive numbers."""
    return np.asarray(np.exp2(np.floor(np.log2(sizes))), np.float64)
