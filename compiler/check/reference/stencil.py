"""Fit polynomials to function values around a point: slopes with error bars.

Richardson's extrapolation of central differences is the polynomial through the points of a ladder of steps. Here the
polynomial is fitted to more points than it needs. Its residue shows how far its slope can be trusted: rounding, too
large a window, a kink or a jump all leave a residue. Nodes are odd multiples of 1/4096. A point plus a node times a
power of two is then exact in float64. Also, no two windows fall into step with a function that oscillates.

All of it gives the same bits on every processor: the weights are computed with fractions and rounded once, and sums
over nodes have a fixed order. The kernels of a linear-algebra library differ between processors in the last bits, which
would move the sample that a report shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.arrays import weighted

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class Stencil:
    """Nodes, in units of a window's half width, and the polynomial through the values there.

    Attributes:
        nodes: Shape (M,).
        slope: The slope at zero is this times the values.
        value: The value at zero is this times the values.
        smooth: The polynomial at the nodes is this times the values.
        spread: Standard error of the slope for values of standard error one.
        freedom: Number of values minus number of coefficients.
    """

    nodes: Floats
    slope: Floats
    value: Floats
    smooth: Floats
    spread: float
    freedom: int

    def fit(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the slope and half its error bar for half width one; values are along the last axis."""
        with np.errstate(all="ignore"):
            size = np.max(np.abs(values), axis=-1)
            moved = values - values[..., :1]
            unit = np.max(np.abs(moved), axis=-1)
            unit = np.where(unit > 0.0, unit, 1.0)
            moved = moved / unit[..., None]
            slope = weighted(moved, self.slope) * unit
            residue = moved - weighted(moved, self.smooth)
            scatter = np.sqrt(np.sum(residue * residue, axis=-1) / self.freedom) * unit
            bar = tol.BAR_SAFETY * self.spread * np.maximum(scatter, tol.ULP64 * size / 2.0)
        finite = np.isfinite(values).all(axis=-1)
        return np.where(finite, slope, np.nan), np.where(finite & np.isfinite(bar), bar, np.inf)


def _stencil(nodes: tuple[int, ...], degree: int) -> Stencil:
    points = [Fraction(node, tol.STENCIL_GRAIN) for node in nodes]
    coefficients = _least_squares([[point**k for k in range(degree + 1)] for point in points])
    value, slope = (np.array(row, np.float64) for row in coefficients[:2])
    smooth = [
        [sum((row[n] * point**k for k, row in enumerate(coefficients)), Fraction(0)) for n in range(len(nodes))]
        for point in points
    ]
    spread = float(np.sqrt(np.sum(slope * slope)))
    freedom = len(nodes) - degree - 1
    return Stencil(np.array(points, np.float64), slope, value, np.array(smooth, np.float64), spread, freedom)


def _least_squares(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return what maps right-hand sides to the least-squares solution: one row for each unknown, exactly."""
    columns = list(zip(*matrix, strict=True))
    rows = [[sum(map(mul, a, b), Fraction(0)) for b in columns] + list(a) for a in columns]
    for k in range(len(columns)):  # positive definite: no pivot is zero
        pivot = [entry / rows[k][k] for entry in rows[k]]
        rows = [
            pivot if row is rows[k] else [entry - row[k] * above for entry, above in zip(row, pivot, strict=True)]
            for row in rows
        ]
    return [row[len(columns) :] for row in rows]


@cache
def central() -> Stencil:
    """Return nodes on both sides and at the point itself; exact for polynomials up to degree 8."""
    return _stencil((*(-n for n in reversed(tol.CENTRAL_NODES)), 0, *tol.CENTRAL_NODES), tol.CENTRAL_DEGREE)


@cache
def confirming() -> Stencil:
    """Return other nodes and a lower degree, to confirm a slope of ``central``."""
    return _stencil((*(-n for n in reversed(tol.CONFIRM_NODES)), 0, *tol.CONFIRM_NODES), tol.CONFIRM_DEGREE)


@cache
def one_sided(sign: int) -> Stencil:
    """Return nodes on one side, without the point itself, where a jump may be; exact up to degree 7."""
    return _stencil(tuple(sign * n for n in tol.SIDE_NODES), tol.SIDE_DEGREE)


@cache
def scattered(sign: int) -> Stencil:
    """Return nodes on one side with a low degree, which leaves the noise of the values nearly as it is."""
    return _stencil(tuple(sign * n for n in tol.SIDE_NODES), tol.SCATTER_DEGREE)
