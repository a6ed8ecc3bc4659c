"""Compare cheaply at many locations, to find mistakes in rare branches. Each comparison is a scout.

A scout compares one number: the derivative of a random combination of the results along a random direction, by each
mode and by differences. That takes as few evaluations for many inputs as for one. Places that look wrong become
samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.arrays import stretches_of_rows
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.check.reference.stencil import central
from slangad.compiler.check.run.derivative import ModeDerivative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.functions import Evaluate, RowFunction
    from slangad.compiler.report.model import Leg


def scout(
    function: RowFunction, evaluate: Evaluate, rows: Floats, scales: Floats, seed: int, modes: Sequence[Leg]
) -> Indices:
    """Return the numbers of the rows at which some mode looks wrong, the worst first.

    Args:
        function: The function with its derivatives.
        evaluate: Its values, with parts frozen whose derivative is declared away.
        rows: The locations.
        scales: The scale of every column.
        seed: That of directions and cotangents.
        modes: Reverse and forward mode, as far as they exist.
    """
    rng = np.random.default_rng([seed, 7])
    inputs, results = function.inputs.differentiable, function.results.differentiable
    directions, cotangents = np.zeros(rows.shape), np.zeros((len(rows), len(function.results.columns)))
    directions[:, inputs] = rng.uniform(-1.0, 1.0, (len(rows), len(inputs))) * scales[inputs]
    cotangents[:, results] = rng.normal(size=(len(rows), len(results)))
    weights = cotangents[:, results]
    worst = np.zeros(len(rows))
    with np.errstate(all="ignore"):
        slopes, bars = slopes_along(evaluate, rows, directions, weights)
        for mode in modes:
            derivative = ModeDerivative(function, mode)
            if derivative.is_reverse:
                terms = derivative.along(rows, cotangents) * directions[:, inputs]
            else:
                terms = derivative.along(rows, directions) * weights
            slope, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
            usual = known_median(np.where(np.isfinite(size), size, np.nan))
            slack = bars + tol.SCOUT_TOLERANCE * (size + tol.SCOUT_USUAL_SHARE * usual) + tol.UNDERFLOW
            off = np.abs(slope - slopes) / slack
            off = np.where(np.isnan(off), np.inf, off)
            sharp = (bars <= tol.SCOUT_SHARP * np.maximum(np.abs(slopes), size)) & np.isfinite(slopes)
            worst = np.maximum(worst, np.where(sharp, off, 0.0))
    order = np.argsort(-worst, kind="stable")[: tol.SCOUTS_FOUND]
    return np.asarray(order[worst[order] > 1.0])


def slopes_along(
    evaluate: Evaluate, rows: Floats, directions: Floats, weights: Floats, windows: Sequence[float] = tol.SCOUT_WINDOWS
) -> tuple[Floats, Floats]:
    """Return slopes of the weighted results along directions, and half their error bars, from the sharpest windows."""
    stencil = central()
    nodes = len(stencil.nodes)
    slopes, bars = [], []
    for width in windows:
        parts = []
        for some in stretches_of_rows(len(rows), nodes * rows.shape[1]):
            moved = rows[some, None, :] + (width * stencil.nodes)[None, :, None] * directions[some, None, :]
            base = np.repeat(rows[some], nodes, axis=0)
            values = evaluate(moved.reshape(base.shape), base).reshape(len(moved), nodes, weights.shape[1])
            parts.append((values * weights[some, None, :]).sum(axis=2))
        slope, bar = stencil.fit(np.concatenate(parts))
        slopes.append(slope / width)
        bars.append(bar / width)
    best = np.argmin(bars, axis=0)
    chosen = best, np.arange(len(rows))
    return np.array(slopes)[chosen], np.array(bars)[chosen]
