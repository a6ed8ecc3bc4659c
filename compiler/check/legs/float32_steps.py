"""Compute differences in float32. They show that float32 computes another function than float64, such as a hash.

A hash of a cell jumps at the borders of the cell, so no one step is right for all samples. Small steps stay within the
cell, large ones are less noisy.
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


def differences_agree(
    f32: RowFunction, samples: tuple[Floats, int], entries: Floats, near: Floats, ulp: float
) -> Bools:
    """Return True for entries of a Jacobian that agree with differences.

    Those with the largest step suffice. Else two steps in a row must agree, from one side or across: where values are
    noisy, one alone may agree by accident.

    Args:
        f32: The function in float32.
        samples: Rows, and the column to move.
        entries: Derivatives along it, shape (samples, results).
        near: The largest allowed distance of differences, and of their noise; the same shape.
        ulp: That of the values, relative.
    """
    rows, column = samples
    results, unit = f32.results.differentiable, np.maximum(1.0, np.abs(rows[:, column]))

    def at(step: float) -> _Moved:
        moved = rows.copy()
        moved[:, column] = (rows[:, column] + step * unit).astype(np.float32)
        return f32.values(moved)[:, results], (moved - rows)[:, column, None]

    here = at(0.0)[0]
    larger = [at(side * 2 * tol.F32_STEPS[0]) for side in (-1, 1)]
    fits, before = np.zeros(entries.shape, bool), np.zeros((3, *entries.shape), bool)
    for step in tol.F32_STEPS:
        sides = [at(side * step) for side in (-1, 1)]
        slopes = [_slope(*sides), *(_one_sided(*two, here) for two in zip(sides, larger, strict=True))]
        noise = [tol.F32_STEP_NOISE * ulp * size / (step * unit)[:, None] for size in _sizes(sides, larger, here)]
        fit = np.array([(np.abs(s - entries) <= near) & (n <= near) for s, n in zip(slopes, noise, strict=True)])
        fits |= (fit & before).any(axis=0) | (fit[0] & (step == tol.F32_STEPS[0]))
        if not (~fits & (noise[0] <= near)).any():
            break
        before, larger = fit, sides
    return fits


def _slope(one: _Moved, other: _Moved) -> Floats:
    """Return the slope between two locations."""
    return np.asarray((other[0] - one[0]) / (other[1] - one[1]))


def _one_sided(one: _Moved, other: _Moved, here: Floats) -> Floats:
    """Return the slope here of the parabola through two locations on one side and the values here."""
    (first, near), (second, far) = one, other
    chords = (first - here) / near, (second - here) / far
    return np.asarray((chords[0] * far - chords[1] * near) / (far - near))


def _sizes(sides: list[_Moved], larger: list[_Moved], here: Floats) -> Iterator[Floats]:
    """Yield sizes of the values as their rounding enters the slopes: across, from the left, from the right."""
    low, high = (np.abs(values) for values, _ in sides)
    yield low + high
    for (near, _), (far, _) in zip(sides, larger, strict=True):
        yield 2 * np.abs(near) + np.abs(far) / 2 + 1.5 * np.abs(here)
