"""Measure slopes along several inputs at once, at kinks.

Each entry of a gradient may lie between the one-sided slopes along its input, and the gradient may still be wrong: at a
tie of ``max(x, y)``, x and y may have a slope of one, but not both. Therefore two inputs with a kink are also examined
together: the sum and the difference of their entries are compared with slopes along both, at the sample and nearby.
Where three inputs are equal, the sum of their entries is compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.differences import Slices, measure, one_sided_estimate
from slangad.compiler.check.reference.stencil import central

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.functions import Evaluate
    from slangad.compiler.check.reference.differences import Estimate, Ladder


@dataclass(frozen=True, slots=True)
class InputGroup:
    """Several inputs of a sample, as columns, that move at once; ``signs`` are -1 for those that move back, else 1."""

    sample: int
    columns: tuple[int, ...]
    signs: tuple[int, ...]

    def moved(self, rows: Floats) -> Floats:
        """Return rows without their last column, moved by the number in it."""
        moved = rows[:, :-1].copy()
        moved[:, self.columns] += np.array(self.signs) * rows[:, -1:]
        return moved


def pairs_of(sample: int, columns: Iterable[int]) -> Iterator[InputGroup]:
    """Yield all pairs of some columns, once for the sum and once for the difference."""
    for pair in combinations(columns, 2):
        yield InputGroup(sample, pair, (1, 1))
        yield InputGroup(sample, pair, (1, -1))


def slopes_of_group(
    evaluate: Evaluate, inputs: Indices, group: InputGroup, row: Floats, scales: Floats
) -> tuple[Floats, Floats]:
    """Return the least and the largest slope of every result along a group; infinite where they are not known.

    They are not known for results that jump there. A sharp slope in large windows counts too: steps that are finer than
    those windows, as those of float32 numbers, have slopes of zero in small ones. Slopes much closer to the sample
    count too, where the function is bent so much that those of the other places differ. Where rounding hides the slopes
    close to the sample, those of farther places count, if both sides of the sample have a slope.
    """
    size = np.array([scales[list(group.columns)].min()])
    here = Slices(np.append(row, 0.0)[None], np.array([len(row)]), size)

    def along(rows: Floats, base: Floats) -> Floats:
        return evaluate(group.moved(rows), group.moved(base))

    sides, values, doubts = zip(*(one_sided_estimate(along, here, sign) for sign in (-1, 1)), strict=True)
    value = along(here.rows, here.rows)
    large = measure(along, here, tol.SCREEN_LEVELS, central())
    with np.errstate(all="ignore"):
        sharp = replace(large, bar=np.where(large.bar <= tol.SHARP * np.abs(large.slope), large.bar, np.inf))
        apart = np.abs(np.concatenate(values) - value) - np.concatenate(doubts)
        jumps = apart > tol.SIDE_VALUE * np.abs(value)
    closer = _measure_near(along, _close_by(here, group, scales, inputs, -tol.CORNER_CLOSER), -tol.CORNER_CLOSER)
    low, high = np.full((2, len(sides[0].slope[0])), [[-np.inf], [np.inf]])
    for farther in tol.FARTHER:
        near = _measure_near(along, _close_by(here, group, scales, inputs, farther), farther)
        least, largest, known = _bounds(sides, near, (closer, sharp))
        known_sides = known[: len(sides)]
        counted = known[: len(sides) + near.slope.shape[0] * near.slope.shape[1]].sum(axis=0)
        enough = (counted >= tol.CORNER_PLACES_KNOWN) & ~(known_sides & jumps).any(axis=0)
        if farther or len(group.columns) > 2:  # nothing else shows that there is a kink
            enough &= known_sides.all(axis=0)
        settled = np.isfinite(low)
        low, high = np.where(~settled & enough, least, low), np.where(~settled & enough, largest, high)
        if (counted >= tol.CORNER_PLACES_KNOWN).all():
            break
    return low, high


def _measure_near(along: Evaluate, slices: Slices, farther: int) -> Ladder:
    return measure(along, slices, [level - farther for level in tol.NEAR_LEVELS], central())


def _bounds(sides: Sequence[Estimate], near: Ladder, others: Sequence[Ladder]) -> tuple[Floats, Floats, Bools]:
    """Return the least and the largest slope of every result, and which slopes are known: sides, near ones, others."""
    with np.errstate(all="ignore"):
        slopes = np.concatenate([*(side.slope for side in sides), *_by_level(*(one.slope for one in (near, *others)))])
        bars = np.concatenate([*(side.bar for side in sides), *_by_level(*(one.bar for one in (near, *others)))])
        counted = len(sides) + near.slope.shape[0] * near.slope.shape[1]
        largest = np.nanmax(np.abs(slopes[:counted]), axis=None, initial=0.0)
        known = np.isfinite(bars) & (bars <= tol.CERTAIN * np.abs(slopes) + tol.CORNER_ZERO * largest)
        low = np.where(known, slopes - bars, np.inf).min(axis=0)
        high = np.where(known, slopes + bars, -np.inf).max(axis=0)
    return low, high, known


def _by_level(*ladders: Floats) -> Iterator[Floats]:
    """Yield arrays of shape (slices, levels, results) level by level."""
    for one in ladders:
        yield from one.swapaxes(0, 1)


def _close_by(here: Slices, group: InputGroup, scales: Floats, inputs: Indices, farther: int) -> Slices:
    """Return slices at locations close by: every other one moved along the group alone, the rest along all inputs.

    They are ``farther`` binary places farther than the usual radius.
    """
    rng, radius = np.random.default_rng(group.sample), tol.CORNER_RADIUS * 2.0**farther
    moves = rng.uniform(-radius, radius, (tol.CORNER_PLACES, here.rows.shape[1]))
    moves[:, :-1] *= np.maximum(np.abs(here.rows[0, :-1]), scales)
    fixed = np.ones(moves.shape, bool)
    fixed[:, group.columns] = False
    fixed[np.ix_(np.arange(1, tol.CORNER_PLACES, 2), inputs)] = False
    rows = here.rows + np.where(fixed, 0.0, moves)
    return Slices(rows, np.repeat(here.columns, len(rows)), np.repeat(here.scales, len(rows)))
