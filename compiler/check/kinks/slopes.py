"""Gradients at kinks along several inputs at once: a sample and inputs go in, slopes that a gradient may have come out.

Each entry of a gradient may lie between the one-sided slopes along its input, and the gradient be none all the same:
where ``max(x, y)`` has a tie, x and y may have a slope of one, but not both. So where two inputs have a kink at once,
the sum and the difference of their entries are held against slopes along both, at the sample and close by. Where three
are equal, the sum of their entries is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.differences import Places, climb, side
from slangad.compiler.check.reference.stencil import central

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.functions import Evaluate


@dataclass(frozen=True, slots=True)
class Together:
    """Several inputs of a sample, as columns, that move at once; ``signs`` are 1, or -1 of those that move back."""

    sample: int
    columns: tuple[int, ...]
    signs: tuple[int, ...]

    def moved(self, rows: Floats) -> Floats:
        """Rows without their last number, which says how far to move them."""
        moved = rows[:, :-1].copy()
        moved[:, self.columns] += np.array(self.signs) * rows[:, -1:]
        return moved


def pairs_of(sample: int, columns: Iterable[int]) -> Iterator[Together]:
    """All pairs of some columns, each once for the sum and once for the difference."""
    for pair in combinations(columns, 2):
        yield Together(sample, pair, (1, 1))
        yield Together(sample, pair, (1, -1))


def slopes_along(
    evaluate: Evaluate, inputs: npt.NDArray[np.int64], several: Together, row: Floats, scales: Floats
) -> tuple[Floats, Floats]:
    """The least and the largest slope of every result along some inputs; infinite where that can't be said."""
    size = np.array([scales[list(several.columns)].min()])
    here = Places(np.append(row, 0.0)[None], np.array([len(row)]), size)

    def along(rows: Floats, base: Floats) -> Floats:
        return evaluate(several.moved(rows), several.moved(base))

    ends = [side(along, here, sign)[0] for sign in (-1, 1)]
    around = climb(along, _close_by(here, several, scales, inputs), tol.NEAR_LEVELS, central())
    slopes = np.concatenate([*(end.slope for end in ends), *around.slope.swapaxes(0, 1)])
    bars = np.concatenate([*(end.bar for end in ends), *around.bar.swapaxes(0, 1)])
    with np.errstate(all="ignore"):
        sizes = np.abs(slopes)
        known = np.isfinite(bars)
        known &= bars <= tol.CERTAIN * sizes + tol.CORNER_ZERO * np.nanmax(sizes, initial=0.0)
        low = np.where(known, slopes - bars, np.inf).min(axis=0)
        high = np.where(known, slopes + bars, -np.inf).max(axis=0)
    enough = known.sum(axis=0) >= tol.CORNER_PLACES_KNOWN
    if len(several.columns) > 2:  # nothing else says that there is a kink
        enough &= known[: len(ends)].all(axis=0)
    return np.where(enough, low, -np.inf), np.where(enough, high, np.inf)


def _close_by(here: Places, several: Together, scales: Floats, inputs: npt.NDArray[np.int64]) -> Places:
    """Places near one: every other moved along those inputs alone, the rest along all."""
    moves = np.random.default_rng(several.sample).uniform(
        -tol.CORNER_RADIUS, tol.CORNER_RADIUS, (tol.CORNER_PLACES, here.rows.shape[1])
    )
    moves[:, :-1] *= np.maximum(np.abs(here.rows[0, :-1]), scales)
    fixed = np.ones(moves.shape, bool)
    fixed[:, several.columns] = False
    fixed[np.ix_(np.arange(1, tol.CORNER_PLACES, 2), inputs)] = False
    rows = here.rows + np.where(fixed, 0.0, moves)
    return Places(rows, np.repeat(here.columns, len(rows)), np.repeat(here.scales, len(rows)))
