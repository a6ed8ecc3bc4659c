"""Encodings and losses of ``sa.nn``: values and gradients against float64."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import largest, loaded, near

import slangad as sa
from slangad import float2
from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.toolchain
FILE = Path(__file__).with_name("encodings.py")
PRIMES = (1, 2654435761, 805459861)
Grid = tuple[np.ndarray, np.ndarray, np.ndarray]


def positions(count: int, dims: int) -> np.ndarray:
    x = np.random.default_rng(5).uniform(0, 1, (count, dims)).astype("f4")
    x[: min(count, 2)] = np.array([[0.0] * dims, [1.0] * dims], "f4")[:count]
    return x


def gathered(x: np.ndarray, level: float, table: np.ndarray, entry: Callable[[tuple[int, ...]], int]) -> np.ndarray:
    """One level of a grid at each position: the sum over the corners of a cell, in float64."""
    found = np.zeros((len(x), table.shape[-1]))
    for row, point in enumerate(np.clip(x.astype(np.float64), 0, 1) * np.float64(np.float32(level)) + 0.5):
        cell = np.floor(point).astype(int)
        for corner in product((0, 1), repeat=len(point)):
            weight = np.prod([f if c else 1 - f for f, c in zip(point - cell, corner, strict=True)])
            found[row] += weight * table[entry(tuple(cell + corner))].astype(np.float64)
    return found


def hashed(x: np.ndarray, table: np.ndarray, base: int, growth: float) -> np.ndarray:
    parts, dims = [], x.shape[1]
    for level, rows in enumerate(table):
        scale = base * growth**level - 1
        side = int(np.floor(scale + 0.5)) + 2

        def entry(at: tuple[int, ...], side: int = side, count: int = len(rows)) -> int:
            if side**dims <= count:
                return sum(v * side**axis for axis, v in enumerate(at))
            mixed = 0
            for v, prime in zip(at, PRIMES, strict=False):
                mixed ^= v * prime % 2**32
            return mixed % count

        parts.append(gathered(x, scale, rows, entry))
    return np.concatenate(parts, 1)


def dense(x: np.ndarray, table: np.ndarray, base: int, growth: float, levels: int) -> np.ndarray:
    parts, start = [], 0
    for level in range(levels):
        scale = base * growth**level - 1
        side = int(np.floor(scale + 0.5)) + 2
        entry = lambda at, side=side, start=start: start + sum(v * side**axis for axis, v in enumerate(at))  # noqa: E731
        parts.append(gathered(x, scale, table, entry))
        start += side ** x.shape[1]
    assert start == len(table)
    return np.concatenate(parts, 1)


GRIDS: dict[str, tuple[tuple[int, ...], str, int, Callable[[np.ndarray, np.ndarray], np.ndarray], float]] = {
    "hash2": ((4, 64, 2), "f4", 2, lambda x, t: hashed(x, t, 3, 1.7), 1e-5),
    "hash3": ((3, 100, 3), "f2", 3, lambda x, t: hashed(x, t, 2, 2.0), 1e-3),
    "dense2": ((116, 2), "f4", 2, lambda x, t: dense(x, t, 3, 1.5, 3), 1e-5),
    "single": ((2, 50, 1), "f4", 2, lambda x, t: hashed(x, t, 4, 1.6), 1e-5),
    "many": ((25, 6), "f2", 2, lambda x, t: dense(x, t, 2, 1.6, 2), 1e-3),
}


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("count", [0, 1, 33])
def test_grid__values_and_gradients__are_those_of_float64(name: str, count: int) -> None:
    shape, dtype, dims, reference, tolerance = GRIDS[name]
    kernel, x = getattr(loaded(FILE, "cpu"), name), positions(count, dims)
    stream = np.random.default_rng(7)
    table = stream.uniform(-1, 1, shape).astype(dtype)
    wanted = reference(x, table)
    near(kernel.forward(x, {"table": table}).result, wanted, 1e-5, size=1.0)
    seed = stream.uniform(-1, 1, wanted.shape).astype("f4")
    out = kernel.backward(x, {"table": table}, cotangent=seed)
    # results are linear in the table: its gradient times any direction is the results of that direction
    direction = stream.uniform(-1, 1, shape)
    along = (seed * reference(x, direction)).sum()
    near((np.asarray(out["grad.grid.table"], float) * direction).sum(), along, tolerance, size=max(1.0, abs(along)))
    inside, step = x[2:].astype(float), 1e-5
    for axis in range(dims):
        moved = np.eye(dims)[axis] * step
        slope = ((reference(inside + moved, table) - reference(inside - moved, table)) * seed[2:]).sum(1) / (2 * step)
        near(np.asarray(out["grad.x"])[2:, axis], slope, 1e-4, size=largest(slope) + 1)


def test_encodings__without_trained_values__are_their_formulas() -> None:
    kernels, x = loaded(FILE, "cpu"), np.random.default_rng(3).uniform(-1, 1, (33, 2)).astype("f4")
    waves, blobs = kernels.fixed.forward(x).result
    angles = x.astype(float)[:, :, None] * np.pi * 2.0 ** np.arange(3)
    near(waves, np.concatenate([np.sin(angles), np.cos(angles)], 2).reshape(33, 12), 2e-6, size=1.0)
    away = (x.astype(float)[:, :, None] - (np.arange(5) + 0.5) / 5) * 5
    near(blobs, np.exp(-0.5 * away**2).reshape(33, 10), 3e-6, size=1.0)
    seeds = np.random.default_rng(4).uniform(-1, 1, (33, 22)).astype("f4")
    out = kernels.fixed.backward(x, cotangent=(seeds[:, :12], seeds[:, 12:]))
    steps = np.pi * 2.0 ** np.arange(3)
    slope = (
        seeds[:, :12].reshape(33, 2, 6) * np.concatenate([np.cos(angles) * steps, -np.sin(angles) * steps], 2)
    ).sum(2)
    slope += (seeds[:, 12:].reshape(33, 2, 5) * np.exp(-0.5 * away**2) * -away * 5).sum(2)
    near(out["grad.x"], slope, 1e-5, size=largest(slope))


def test_spherical_harmonics__are_orthonormal_on_the_sphere() -> None:
    heights, weights = np.polynomial.legendre.leggauss(8)
    turns = np.arange(16) * np.pi / 8
    ring = np.sqrt(1 - heights**2)
    d = np.stack([np.outer(ring, np.cos(turns)), np.outer(ring, np.sin(turns)), np.outer(heights, np.ones(16))], 2)
    h = np.asarray(loaded(FILE, "cpu").sphere.forward(d.reshape(-1, 3).astype("f4")).result, float)
    area = np.repeat(weights, 16) * np.pi / 8
    near(h.T @ (h * area[:, None]), np.eye(16), 2e-6, size=1.0)


def test_losses__values_and_gradients__are_those_of_float64() -> None:
    stream = np.random.default_rng(6)
    y, t = stream.uniform(-1, 1, (2, 33, 7)).astype("f4")
    e, size = y.astype(float) - t, y.astype(float) ** 2 + 0.01
    kernel = loaded(FILE, "cpu").losses
    hub = np.where(np.abs(e) <= 0.5, e**2 / 2, 0.5 * (np.abs(e) - 0.25))
    near(kernel.forward(y, t).result, np.stack([(e**2).mean(1), (e**2 / size).mean(1), hub.mean(1)], 1), 2e-6)
    slopes = [2 * e / 7, 2 * e / size / 7, np.clip(e, -0.5, 0.5) / 7]
    for k, slope in enumerate(slopes):
        seed = np.zeros((33, 3), "f4")
        seed[:, k] = 1.0
        near(kernel.backward(y, t, cotangent=seed)["grad.y"], slope, 1e-5, size=largest(slope))


@sa.differentiable
def huber_of_half(y: float2, t: float2, delta: float) -> float:
    return sa.nn.huber(y, t, delta=0.5 * delta)


@pytest.mark.parametrize("delta", [0.0, -1.0, float("nan"), float("inf")])
def test_huber__with_a_computed_delta_that_is_not_above_0__is_refused_in_python(delta: float) -> None:
    y, t = float2(1.0, 2.0), float2(3.0, 4.0)
    assert huber_of_half(y, t, 2.0) == 1.5
    with pytest.raises(DescriptionError, match=rf"delta of huber is {0.5 * delta:g} \(a number above 0\)"):
        huber_of_half(y, t, delta)
    with pytest.raises(DescriptionError, match=rf"delta of huber is {0.5 * delta:g} \(a number above 0\)"):
        sa.bwd_diff(huber_of_half)(y, t, delta, 1.0)
    with pytest.raises(DescriptionError, match=r"delta of huber is -2 \(a number above 0\)"):
        sa.nn.huber([1.0, 2.0], [3.0, 4.0], -2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sa.nn.HashGrid(0, 2, 64, 3, 1.7),
        lambda: sa.nn.HashGrid(4, 2, 64, 3, -1.0),
        lambda: sa.nn.HashGrid(4, 2, 64, 3, 0.5),
        lambda: sa.nn.DenseGrid(4, 2, 3, 0.999),
        lambda: sa.nn.HashGrid(4, 2, 64, 3, 1.7, dims=4),
        lambda: sa.nn.HashGrid(32, 2, 64, 3, 1e300),
        lambda: sa.nn.DenseGrid(16, 2, 16, 2.0, dims=3),
        lambda: sa.nn.Frequency(0),
        lambda: sa.nn.SphericalHarmonics(5),
        lambda: sa.nn.OneBlob(2.5),
    ],
)
def test_arguments__that_do_not_fit__are_refused_with_a_remedy(make: Callable[[], object]) -> None:
    with pytest.raises(DescriptionError) as caught:
        make()
    assert caught.value.help
