"""What rounding makes of derivatives: how they are computed goes in, how far they may be off comes out.

Inputs that move by units in the last place show the conditioning. Cotangents and directions that do show how large the
terms are that cancel out, since derivatives are linear in them: nothing changes but how each term is rounded. So what
is left of terms that cancel to zero is told from a mistake, which stays as large as it is.

Cancellation in what a derivative is computed from (``1 - cos(x)``) is the same at inputs some units away, since it
rounds alike there. What shows it is how a derivative scatters around a smooth curve, in windows of several sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.stencil import scattered

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats


def moved(
    evaluate: Callable[[Floats], Floats],
    rows: Floats,
    base: Floats,
    inputs: list[int],
    unit: float,
    rng: np.random.Generator,
    tries: int = tol.CONDITION_TRIES,
) -> Floats:
    """How far something moves when the inputs move by units in the last place."""
    far = np.zeros(base.shape)
    for _ in range(tries):
        near = rows.copy()
        near[:, inputs] *= 1.0 + rng.integers(-1, 2, (len(rows), len(inputs))) * unit
        far = np.fmax(far, _apart(evaluate(near), base))
    return far


def rounded(
    evaluate: Callable[[Floats], Floats],
    weights: Floats,
    unit: float,
    rng: np.random.Generator,
    tries: int = tol.CANCELLATION_TRIES,
) -> Floats:
    """How far a derivative moves when its cotangents, or directions, move by units in the last place."""
    base = evaluate(weights)
    far = np.zeros(base.shape)
    for _ in range(tries):
        steps = rng.integers(1, tol.ROUNDING_UNITS + 1, weights.shape) * rng.choice((-1, 1), weights.shape)
        far = np.fmax(far, _apart(evaluate(weights * (1.0 + steps * unit)), base))
    return far


def terms(jacobian: Callable[[Floats], Floats], shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """How large what is added up to the entries of a float64 Jacobian is, by what rounding leaves of it.

    Args:
        jacobian: Divided by the sizes of the cotangents or directions that it takes.
        shape: Of these sizes.
        rng: Draws them. They are anything from 1 to 2, so it must be sure that the derivative is linear in them.
    """
    base = jacobian(np.ones(shape))
    far = np.zeros(base.shape)
    for _ in range(tol.CANCELLATION_TRIES):
        far = np.fmax(far, _apart(jacobian(rng.uniform(1.0, 2.0, shape)), base))
    return far / tol.ULP64


def scatter(
    evaluate: Callable[[Floats], Floats], rows: Floats, columns: npt.NDArray[np.int64], widths: Floats
) -> Floats:
    """How far a derivative may be off where it scatters around a smooth curve, on the side where it does so most.

    A mistake at one place, beside an edge or in a narrow stretch is no scatter: most of the places in a window must be
    off, in windows of sizes that are far apart.

    Args:
        evaluate: Entries of the derivative at rows, of which there are several, one after another, for each place.
        rows: The places.
        columns: The column to move, for each of them.
        widths: How far to go at most.
    """
    far = []
    for sign in (-1, 1):
        stencil = scattered(sign)
        moves = (widths[:, None] * np.array(tol.SCATTER_WINDOWS))[:, :, None] * stencil.nodes
        near = np.repeat(rows, moves[0].size, axis=0)
        near[np.arange(len(near)), np.repeat(columns, moves[0].size)] += moves.reshape(-1)
        found = evaluate(near).reshape(*moves.shape, -1).swapaxes(2, 3)
        with np.errstate(all="ignore"):
            missed = np.median(np.abs(found - found @ stencil.smooth.T), axis=3)
        missed = np.where(np.isfinite(missed), missed, 0.0)
        steady = np.lib.stride_tricks.sliding_window_view(missed, tol.SCATTER_RUN, axis=1).min(axis=3)
        far.append(steady.max(axis=1))
    return np.asarray(tol.SCATTER_SAFETY * np.maximum(*far))


def apart_nearby(
    narrow: Callable[[Floats], Floats],
    wide: Callable[[Floats], Floats],
    rows: Floats,
    values: Floats,
    inputs: list[int],
    seed: int,
) -> Floats:
    """How far values in float32 are from those in float64, beside them, where inputs are nearly the same.

    At the rows themselves they may be close by accident. Places where they are not finite don't count.
    """
    rng = np.random.default_rng([seed, 8])
    far = np.zeros(values.shape)
    for _ in range(tol.VALUES_NEAR_PLACES):
        near = rows.copy()
        moves = rng.uniform(-tol.VALUES_NEAR, tol.VALUES_NEAR, (len(rows), len(inputs)))
        near[:, inputs] = (rows[:, inputs] * (1.0 + moves)).astype(np.float32)
        with np.errstate(all="ignore"):
            found = wide(near)
            far = np.fmax(far, _apart(narrow(near), found) / np.fmax(np.abs(values), np.abs(found)))
    return np.where(np.isfinite(far), far, 0.0)


def nearby(sizes: Floats, inputs: Floats) -> Floats:
    """The median size at the samples whose value of the input is close by."""
    found = np.empty_like(sizes)
    for column in range(sizes.shape[2]):
        order = np.argsort(inputs[:, column], kind="stable")
        padded = np.pad(sizes[order, :, column], ((tol.NEIGHBOURS_BESIDE, tol.NEIGHBOURS_BESIDE), (0, 0)), mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * tol.NEIGHBOURS_BESIDE + 1, axis=0)
        found[order, :, column] = np.median(windows, axis=2)
    return found


def _apart(one: Floats, other: Floats) -> Floats:
    """How far apart, where that is finite."""
    gap = np.abs(one - other)
    return np.where(np.isfinite(gap), gap, 0.0)
