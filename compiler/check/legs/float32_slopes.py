"""Differences in float32: a float32 function, places and derivatives go in, whether these are its own comes out.

A hash of an input is another function in float32 than in float64. One of a cell jumps at the cell's borders, so no size
of steps is right for all places: narrow ones stay within the cell, wide ones are less noisy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.functions import RowFunction


_Moved: TypeAlias = "tuple[Floats, Floats]"
"""Values, and how far away they are."""


def steps_fit(narrow: RowFunction, places: tuple[Floats, int], mine: Floats, near: Floats, ulp: float) -> Bools:
    """Whether differences are as near to derivatives as ``near``, and so is their own noise.

    Those with the widest steps tell it, else those with two sizes of steps in a row, from one side or both: one size
    alone may fit by accident where values are noisy.

    Args:
        narrow: In float32.
        places: Rows, and the column to move.
        mine: Derivatives along it, shape (rows, results).
        near: Of the same shape.
        ulp: Of the values, relative.
    """
    rows, column = places
    outputs, unit = narrow.results.differentiable, np.maximum(1.0, np.abs(rows[:, column]))

    def at(step: float) -> _Moved:
        moved = rows.copy()
        moved[:, column] = (rows[:, column] + step * unit).astype(np.float32)
        return narrow.values(moved)[:, outputs], (moved - rows)[:, column, None]

    here = at(0.0)[0]
    wider = [at(side * 2 * tol.F32_STEPS[0]) for side in (-1, 1)]
    fits, before = np.zeros(mine.shape, bool), np.zeros((3, *mine.shape), bool)
    for step in tol.F32_STEPS:
        sides = [at(side * step) for side in (-1, 1)]
        slopes = [_slope(*sides), *(_bent(*two, here) for two in zip(sides, wider, strict=True))]
        noise = [tol.F32_STEP_NOISE * ulp * size / (step * unit)[:, None] for size in _sizes(sides, wider, here)]
        fit = np.array([(np.abs(s - mine) <= near) & (n <= near) for s, n in zip(slopes, noise, strict=True)])
        fits |= (fit & before).any(axis=0) | (fit[0] & (step == tol.F32_STEPS[0]))
        if not (~fits & (noise[0] <= near)).any():
            break
        before, wider = fit, sides
    return fits


def _slope(one: _Moved, other: _Moved) -> Floats:
    """The slope between two places."""
    return np.asarray((other[0] - one[0]) / (other[1] - one[1]))


def _bent(one: _Moved, other: _Moved, here: Floats) -> Floats:
    """The slope of the parabola through two places on one side and the values here."""
    (first, near), (second, far) = one, other
    chords = (first - here) / near, (second - here) / far
    return np.asarray((chords[0] * far - chords[1] * near) / (far - near))


def _sizes(sides: list[_Moved], wider: list[_Moved], here: Floats) -> Iterator[Floats]:
    """Values as rounding of them goes into slopes: across, from the left, from the right."""
    low, high = (np.abs(values) for values, _ in sides)
    yield low + high
    for (near, _), (far, _) in zip(sides, wider, strict=True):
        yield 2 * np.abs(near) + np.abs(far) / 2 + 1.5 * np.abs(here)
