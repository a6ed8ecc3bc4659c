"""Measure how much rounding may change derivatives.

- Inputs that move by ulps show the conditioning.
- Cotangents and directions that move by ulps show the size of terms that cancel out. Derivatives are linear in them,
  so only the rounding of each term changes. A mistake stays as large as it is.
- Cancellation in a number on the way (``1 - cos(x)``) is the same a few ulps away, since it rounds alike there. It
  shows in how a derivative scatters around a smooth curve, in windows of several sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.arrays import weighted
from slangad.compiler.check.reference.stencil import scattered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from slangad.compiler.check.model.arrays import Floats, Indices

    AnyArray = Floats | Indices


def evaluate_copies(evaluate: Callable[..., Floats], copies: Iterable[tuple[AnyArray, ...]]) -> Iterator[Floats]:
    """Yield the results of a function for several copies of its rows. Several copies share a call.

    Args:
        evaluate: The function. It takes arrays of any number of rows, and the result of a row depends on that row only.
        copies: Its arguments, of the same shapes each time.
    """
    pending: list[tuple[AnyArray, ...]] = []
    for copy in copies:
        pending.append(copy)
        if len(pending) * sum(one.size for one in copy) >= tol.COPIES_AT_ONCE:
            yield from _evaluate_together(evaluate, pending)
            pending = []
    if pending:
        yield from _evaluate_together(evaluate, pending)


def _evaluate_together(evaluate: Callable[..., Floats], copies: Sequence[tuple[AnyArray, ...]]) -> Iterable[Floats]:
    return np.split(evaluate(*(np.concatenate(part) for part in zip(*copies, strict=True))), len(copies))


def spread_by_inputs(
    evaluate: Callable[..., Floats],
    rows: Floats,
    base: Floats,
    inputs: list[int],
    unit: float,
    rng: np.random.Generator,
    tries: int = tol.CONDITION_TRIES,
    weights: Floats | None = None,
) -> Floats:
    """Return the distance of numbers from ``base`` as inputs move by one ulp, ``unit``.

    Args:
        evaluate: Takes any number of rows, with the weights of each if there are weights.
        rows: The inputs.
        base: The numbers there.
        inputs: The columns to move.
        unit: An ulp, relative.
        rng: Draws the moves.
        tries: The number of moves.
        weights: Cotangents or directions, which do not move.
    """

    def moved() -> Iterator[tuple[Floats, ...]]:
        for _ in range(tries):
            near = rows.copy()
            near[:, inputs] *= 1.0 + rng.integers(-1, 2, (len(rows), len(inputs))) * unit
            yield (near,) if weights is None else (near, weights)

    far = np.zeros(base.shape)
    for one in evaluate_copies(evaluate, moved()):
        far = np.fmax(far, _finite_distance(one, base))
    return far


def spread_by_weights(
    evaluate: Callable[[Floats, Floats], Floats],
    rows: Floats,
    weights: Floats,
    unit: float,
    rng: np.random.Generator,
    tries: int = tol.CANCELLATION_TRIES,
) -> Floats:
    """Return the change of a derivative as its cotangents or directions move by several ulps.

    ``evaluate`` takes any number of rows with their weights.
    """

    def moved() -> Iterator[tuple[Floats, Floats]]:
        yield rows, weights
        for _ in range(tries):
            steps = rng.integers(1, tol.ROUNDING_UNITS + 1, weights.shape) * rng.choice((-1, 1), weights.shape)
            yield rows, weights * (1.0 + steps * unit)

    return _largest_distance(evaluate_copies(evaluate, moved()))


def term_sizes(
    jacobian: Callable[[Floats, Floats], Floats], rows: Floats, count: int, rng: np.random.Generator
) -> Floats:
    """Return the sizes of the terms whose sums are the entries of a float64 Jacobian, measured by their rounding.

    Args:
        jacobian: Entries for rows and sizes of cotangents or directions, divided by these. It must be linear in them.
        rows: The samples.
        count: The number of cotangents or directions of each.
        rng: Draws sizes from 1 to 2.
    """

    def sizes() -> Iterator[tuple[Floats, Floats]]:
        yield rows, np.ones((len(rows), count))
        for _ in range(tol.CANCELLATION_TRIES):
            yield rows, rng.uniform(1.0, 2.0, (len(rows), count))

    return _largest_distance(evaluate_copies(jacobian, sizes())) / tol.ULP64


def scatter(evaluate: Callable[[Floats], Floats], rows: Floats, columns: Indices, widths: Floats) -> Floats:
    """Return the scatter of a derivative around a smooth curve, on the side with the larger scatter.

    A mistake at one location, beside an edge or in a small interval is no scatter. Most of the locations in a window
    must be off, in windows of several sizes.

    Args:
        evaluate: Entries of the derivative. It gets several rows for each location, one after another.
        rows: The locations.
        columns: The column to move, for each location.
        widths: The largest distance to go, for each location.
    """
    far = []
    for sign in (-1, 1):
        stencil = scattered(sign)
        moves = (widths[:, None] * np.array(tol.SCATTER_WINDOWS))[:, :, None] * stencil.nodes
        near = np.repeat(rows, moves[0].size, axis=0)
        near[np.arange(len(near)), np.repeat(columns, moves[0].size)] += moves.reshape(-1)
        entries = evaluate(near).reshape(*moves.shape, -1).swapaxes(2, 3)
        with np.errstate(all="ignore"):
            residue = np.median(np.abs(entries - weighted(entries, stencil.smooth)), axis=3)
        residue = np.where(np.isfinite(residue), residue, 0.0)
        steady = np.lib.stride_tricks.sliding_window_view(residue, tol.SCATTER_RUN, axis=1).min(axis=3)
        far.append(steady.max(axis=1))
    return np.asarray(tol.SCATTER_SAFETY * np.maximum(*far))


def f32_error_nearby(
    f32: Callable[[Floats], Floats],
    f64: Callable[[Floats], Floats],
    rows: Floats,
    values: Floats,
    inputs: list[int],
    seed: int,
) -> Floats:
    """Return the relative error of values in float32 at inputs close by; 0 where they are not finite.

    At the samples themselves they may agree by accident.
    """
    rng = np.random.default_rng([seed, 8])

    def moved() -> Iterator[tuple[Floats]]:
        for _ in range(tol.VALUES_NEAR_PLACES):
            near = rows.copy()
            moves = rng.uniform(-tol.VALUES_NEAR, tol.VALUES_NEAR, (len(rows), len(inputs)))
            near[:, inputs] = (rows[:, inputs] * (1.0 + moves)).astype(np.float32)
            yield (near,)

    places, far = list(moved()), np.zeros(values.shape)
    with np.errstate(all="ignore"):
        for exact, rounded in zip(*(evaluate_copies(one, places) for one in (f64, f32)), strict=True):
            far = np.fmax(far, _finite_distance(rounded, exact) / np.fmax(np.abs(values), np.abs(exact)))
    return np.where(np.isfinite(far), far, 0.0)


def median_nearby(sizes: Floats, inputs: Floats) -> Floats:
    """Return for every entry the median size over the samples with a similar value of its input."""
    medians, beside = np.empty_like(sizes), tol.NEIGHBOURS_BESIDE
    for column in range(sizes.shape[2]):
        order = np.argsort(inputs[:, column], kind="stable")
        padded = np.pad(sizes[order, :, column], ((beside, beside), (0, 0)), mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * beside + 1, axis=0)
        medians[order, :, column] = np.median(windows, axis=2)
    return medians


def _largest_distance(numbers: Iterator[Floats]) -> Floats:
    """Return the largest distance of arrays from the first one."""
    base = next(numbers)
    far = np.zeros(base.shape)
    for one in numbers:
        far = np.fmax(far, _finite_distance(one, base))
    return far


def _finite_distance(one: Floats, other: Floats) -> Floats:
    """Return the distance of numbers; 0 where it is not finite."""
    gap = np.abs(one - other)
    return np.where(np.isfinite(gap), gap, 0.0)
