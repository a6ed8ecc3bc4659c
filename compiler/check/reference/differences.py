"""Derivatives of a function that is only evaluated: the function and places go in, slopes with error bars come out.

A window is a sample, a column to move and a half width; ``stencil`` says where in it to evaluate and what to make of
it. A ladder is a row of windows from wide to narrow. No step is right for all functions, so every window's slope comes
with an error bar, and what the ladder says is what its most certain window says, unless a narrower one contradicts:
then the wide one has overlooked structure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.stencil import Stencil, central, one_sided, second

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.functions import Evaluate

    Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Places:
    """Samples to look at along one column each.

    Attributes:
        rows: The samples, shape (K, inputs).
        columns: The column to move, shape (K,).
        scales: Powers of two that say what is far for that input, shape (K,).
    """

    rows: Floats
    columns: Integers
    scales: Floats

    def pick(self, which: npt.NDArray[np.bool_] | Integers) -> Places:
        """Some of them."""
        return Places(self.rows[which], self.columns[which], self.scales[which])

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Slopes:
    """What a ladder of windows says: shape (K, levels, results) each; the bar is infinite where nothing can be said.

    ``values`` is what the polynomial makes of the function at the sample itself, ``moves`` how far apart the largest
    and the smallest value are, ``sizes`` how large the largest is; ``steps`` marks windows most of whose values are
    equal.
    """

    widths: Floats
    slope: Floats
    bar: Floats
    values: Floats
    moves: Floats
    sizes: Floats
    steps: npt.NDArray[np.bool_]


def pick(slopes: Slopes, which: Integers) -> Slopes:
    """Those of some of the places."""
    return Slopes(
        slopes.widths[which],
        slopes.slope[which],
        slopes.bar[which],
        slopes.values[which],
        slopes.moves[which],
        slopes.sizes[which],
        slopes.steps[which],
    )


@dataclass(frozen=True, slots=True)
class Estimate:
    """One slope with half its error bar, shape (K, results) each, and the level it comes from."""

    slope: Floats
    bar: Floats
    level: Integers

    def pick(self, which: Integers) -> Estimate:
        """That of some of the places."""
        return Estimate(self.slope[which], self.bar[which], self.level[which])


def climb(evaluate: Evaluate, places: Places, levels: Sequence[int], stencil: Stencil) -> Slopes:
    """Evaluate windows of several sizes around every place."""
    widths = places.scales[:, None] * np.exp2(-np.array(levels, np.float64))[None, :]
    count, depth, nodes = len(places), len(levels), len(stencil.nodes)
    chunk = max(1, tol.POINTS_AT_ONCE // (depth * nodes))
    parts = [
        _climb(
            evaluate, places.pick(np.arange(start, min(count, start + chunk))), widths[start : start + chunk], stencil
        )
        for start in range(0, count, chunk)
    ]
    slope, bar, values, moves, sizes, steps = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Slopes(widths, slope, bar, values, moves, sizes, steps > 0)


def _climb(evaluate: Evaluate, places: Places, widths: Floats, stencil: Stencil) -> tuple[Floats, ...]:
    count, depth = widths.shape
    moves = widths[:, :, None] * stencil.nodes
    base = np.repeat(places.rows, depth * len(stencil.nodes), axis=0)
    rows = base.copy()
    rows[np.arange(len(rows)), np.repeat(places.columns, depth * len(stencil.nodes))] += moves.reshape(-1)
    found = evaluate(rows, base).reshape(count, depth, len(stencil.nodes), -1).swapaxes(2, 3)
    slope, bar = stencil.fit(found)
    fine = widths >= tol.WINDOW_GRAIN * np.abs(places.rows[np.arange(count), places.columns])[:, None]
    with np.errstate(all="ignore"):
        bar = np.where(fine[:, :, None], bar / widths[:, :, None], np.inf)
        moves, sizes = found.max(axis=-1) - found.min(axis=-1), np.abs(found).max(axis=-1)
        ordered = np.sort(found, axis=-1)
        equal = (ordered[..., 1:] == ordered[..., :-1]).sum(axis=-1)
        steps = (equal > found.shape[-1] // 2).astype(np.float64)
        return slope / widths[:, :, None], bar, found @ stencil.value, moves, sizes, steps


def best(slopes: Slopes, noise: Floats | None = None) -> Estimate:
    """The most certain window that no narrower one contradicts.

    Rounding makes a staircase of every function. Windows as narrow as a step see none of its slope, and don't count
    where wider ones are certain and the steps small enough for rounding. ``noise`` is how much noise beside the values
    rounding may bring, shape (K, results), if that is known: then, steps need not be level.
    """
    between = slopes.steps & _rounded(slopes)[:, None]
    if noise is not None:
        between |= _plateaus(slopes, noise) > 0.0
    everything = _best(slopes, np.isfinite(slopes.bar))
    if not between.any():
        return everything
    above = _best(slopes, np.isfinite(slopes.bar) & ~between)
    with np.errstate(all="ignore"):
        certain = above.bar <= tol.CERTAIN * np.abs(above.slope)
    return Estimate(*(np.where(certain, a, b) for a, b in zip(_parts(above), _parts(everything), strict=True)))


def quantised(slopes: Slopes, estimate: Estimate) -> npt.NDArray[np.bool_]:
    """Whether windows narrower than an estimate's show steps that are too high for rounding."""
    narrower = np.arange(slopes.slope.shape[1])[None, :, None] > estimate.level[:, None]
    stairs = slopes.steps & (slopes.moves > 0.0) & narrower
    return np.asarray(stairs.any(axis=1) & ~_rounded(slopes))


def _plateaus(slopes: Slopes, noise_: Floats) -> Floats:
    """For windows between steps of rounding, where noise is gone all of a sudden, that of wider ones; else 0."""
    found = np.zeros(slopes.slope.shape)
    with np.errstate(all="ignore"):
        noise = slopes.bar * slopes.widths[:, :, None]
        least = np.zeros(noise_.shape)
        for level in range(tol.NOISE_WINDOWS, noise.shape[1]):
            wider = noise[:, level - tol.NOISE_WINDOWS : level]
            low, high = wider.min(axis=1), wider.max(axis=1)
            seen = (high <= tol.NOISE_CONSTANT * low) & (high <= noise_ * slopes.sizes[:, level - 1])
            least = np.where(seen & (noise[:, level] * tol.NOISE_DROP <= low), low, least)
            least = np.where(noise[:, level] * tol.NOISE_DROP <= least, least, 0.0)
            found[:, level] = least
    return found


def _rounded(slopes: Slopes) -> npt.NDArray[np.bool_]:
    """Whether the smallest step seen is small enough for rounding."""
    with np.errstate(all="ignore"):
        least = np.where(slopes.moves > 0.0, slopes.moves, np.inf).min(axis=1)
        return np.asarray(least <= tol.ROUNDING_STEP * np.fmax(slopes.sizes.max(axis=1), 1.0))


def _parts(estimate: Estimate) -> tuple[Floats, Floats, Integers]:
    return estimate.slope, estimate.bar, estimate.level


def _best(slopes: Slopes, usable: npt.NDArray[np.bool_]) -> Estimate:
    depth = slopes.slope.shape[1]
    with np.errstate(all="ignore"):
        low, high = slopes.slope - slopes.bar, slopes.slope + slopes.bar
    allowed = np.ones(slopes.slope.shape[::2], bool)
    floor, roof = np.full(allowed.shape, -np.inf), np.full(allowed.shape, np.inf)
    least = np.full(allowed.shape, np.inf)
    chosen = np.zeros(allowed.shape, np.int64)
    for level in reversed(range(depth)):
        bar = slopes.bar[:, level]
        known = usable[:, level]
        fits = known & (low[:, level] <= roof) & (high[:, level] >= floor)
        allowed &= fits | ~known | (bar > tol.CONTRADICTING_BAR * least)
        use = allowed & fits
        floor = np.where(use, np.maximum(floor, low[:, level]), floor)
        roof = np.where(use, np.minimum(roof, high[:, level]), roof)
        better = use & (bar < least)
        least, chosen = np.where(better, bar, least), np.where(better, level, chosen)
    slope = np.take_along_axis(slopes.slope, chosen[:, None, :], axis=1)[:, 0]
    return Estimate(np.where(np.isfinite(least), slope, np.nan), least, chosen)


def side(evaluate: Evaluate, places: Places, sign: int, noise: Floats | None = None) -> tuple[Estimate, Floats, Floats]:
    """The slope on one side, the value the function tends to from there, and how sure that is.

    Where ``noise`` is known, as ``best`` takes it, a slope between two steps of rounding is not sure at all.
    """
    slopes = climb(evaluate, places, tol.LADDER, one_sided(sign))
    found = best(slopes, noise)
    if noise is not None:
        found = replace(found, bar=np.fmax(found.bar, _unsure(slopes, found, noise)))
    values = np.take_along_axis(slopes.values, found.level[:, None, :], axis=1)[:, 0]
    widths = np.take_along_axis(slopes.widths[:, :, None], found.level[:, None, :], axis=1)[:, 0]
    with np.errstate(all="ignore"):
        slack = found.bar * widths + tol.SIDE_VALUE * np.fmax(np.abs(values), np.abs(found.slope) * widths)
    return found, np.where(np.isfinite(found.bar), values, np.nan), slack


def _unsure(slopes: Slopes, estimate: Estimate, noise: Floats) -> Floats:
    """What steps of rounding make of slopes in windows as wide as those of an estimate that lies between them."""
    level = estimate.level[:, None, :]
    steps, widths = _plateaus(slopes, noise), slopes.widths[:, :, None]
    return np.asarray((np.take_along_axis(steps, level, axis=1) / np.take_along_axis(widths, level, axis=1))[:, 0])


def plausible(slopes: Slopes, estimate: Estimate, own: Floats, slack: Floats, noise_: Floats) -> npt.NDArray[np.bool_]:
    """Whether a slope agrees with a window that contradicts the estimate and has no more noise than rounding may bring.

    The function as computed then does have the estimated slope, but only between steps of its rounding. ``noise_`` is
    how much noise beside the values that may be, shape (K, results).
    """
    with np.errstate(all="ignore"):
        noise = slopes.bar * slopes.widths[:, :, None]
        quiet = noise <= noise_[:, None] * slopes.sizes
        contradicts = np.abs(slopes.slope - estimate.slope[:, None]) > slopes.bar + estimate.bar[:, None]
        agrees = np.abs(slopes.slope - own[:, None]) <= slopes.bar + slack[:, None]
    return np.asarray((quiet & contradicts & agrees & ~slopes.steps).any(axis=1))


def neighbourhood(
    evaluate: Evaluate, places: Places, inputs: Integers, usual: Floats, seed: int
) -> tuple[Floats, Floats]:
    """The least and largest slope close by, where that is not the same everywhere; else an empty interval.

    Args:
        evaluate: The function.
        places: Where.
        inputs: The columns to move.
        usual: What is far in each of them, usually.
        seed: Of where they move.
    """
    rng = np.random.default_rng(seed)
    far = np.maximum(np.abs(places.rows), usual) * tol.AROUND_RADIUS
    lows, highs = [], []
    for _ in range(tol.AROUND_PLACES):
        moves = rng.uniform(-1.0, 1.0, places.rows.shape)
        rows = places.rows.copy()
        rows[:, inputs] += (moves * far)[:, inputs]
        found = climb(evaluate, Places(rows, places.columns, places.scales), tol.NEAR_LEVELS, central())
        with np.errstate(all="ignore"):
            good = found.bar <= tol.CERTAIN * np.abs(found.slope) + tol.AROUND_ZERO * np.abs(found.slope).max()
        lows.append(np.where(good, found.slope - found.bar, np.inf).min(axis=1))
        highs.append(np.where(good, found.slope + found.bar, -np.inf).max(axis=1))
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    with np.errstate(all="ignore"):
        flat = high - low <= tol.AROUND_SAME * np.maximum(np.abs(low), np.abs(high))
    return np.where(flat, np.inf, low), np.where(flat, -np.inf, high)


def look_deep(evaluate: Evaluate, places: Places, noise: Floats) -> tuple[Slopes, Estimate]:
    """All windows, both sides."""
    slopes = climb(evaluate, places, tol.LADDER, central())
    return slopes, best(slopes, noise)


def look_again(evaluate: Evaluate, places: Places, noise: Floats) -> Estimate:
    """All windows with other nodes, to confirm what ``look_deep`` found."""
    levels = tuple(level + 1 for level in tol.LADDER)
    return best(climb(evaluate, places, levels, second()), noise)


def power_of_two(sizes: Floats) -> Floats:
    """The powers of two at or below positive numbers."""
    return np.asarray(np.exp2(np.floor(np.log2(sizes))), np.float64)
