"""Loops that set rows of an array, before a product: their derivatives are those of float64, and slangad's own."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("encoded.py")
RNG = np.random.default_rng(11)


def waves(x: np.ndarray, _: object) -> np.ndarray:
    angles = x[:, :1] * np.arange(1, 6) + x[:, 1:]
    return np.stack([np.sin(angles), np.cos(angles) * x[:, 1:]], -1).reshape(len(x), 10)


def bumps(x: np.ndarray, _: object) -> np.ndarray:
    offsets = x[:, :, None] - 0.25 * np.arange(5)
    offsets = np.where(offsets.real > 0.5, 0.5 * (offsets + 0.5), offsets)
    return np.exp(-offsets * offsets).reshape(len(x), 10)


def grid(x: np.ndarray, levels: list[np.ndarray], scales: list[float], entry: Callable[..., np.ndarray]) -> np.ndarray:
    """The features of every level; ``x`` may be complex, for derivatives by complex steps."""
    found = []
    for level, table in enumerate(levels):
        at = x * np.float64(np.float32(scales[level])) + 0.5
        cell = np.floor(at.real)
        total = np.zeros((len(x), table.shape[-1]), np.result_type(x, table))
        for corner in product((0, 1), repeat=x.shape[1]):
            near = at - cell
            weight = np.prod([near[:, a] if c else 1 - near[:, a] for a, c in enumerate(corner)], 0)
            total += weight[:, None] * table[entry(level, (cell + corner).astype(np.int64))]
        found.append(total)
    return np.concatenate(found, 1)


def hashed(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    scales = [3 * 1.7**n - 1 for n in range(3)]

    def entry(level: int, at: np.ndarray) -> np.ndarray:
        side = int(scales[level] + 0.5) + 2
        mixed = at[:, 0] ^ (at[:, 1] * 2654435761 % 2**32)
        return at[:, 1] * side + at[:, 0] if side * side <= 64 else mixed % 64

    return grid(x, list(table), scales, entry)


def dense(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    scales = [2 * 1.5**n - 1 for n in range(5)]
    sides = [int(scale + 0.5) + 2 for scale in scales]
    starts = np.cumsum([0, *(side**3 for side in sides)])
    levels = [table[a:b] for a, b in pairwise(starts)]
    return grid(x, levels, scales, lambda n, at: (at[:, 2] * sides[n] + at[:, 1]) * sides[n] + at[:, 0])


TABLES = {"hashed": (3, 64, 4), "dense": (3**3 + 4**3 + 6**3 + 8**3 + 11**3, 2)}
ENCODINGS = {"waves": waves, "bumps": bumps, "hashed": hashed, "dense": dense}


def test_rows__of_loops_over_constant_bounds__are_functions_of_their_own() -> None:
    names = {f.name for f in run_passes(load(DESCRIBED)).functions}
    assert {"waves_y_entry", "bumps_y_entry"} <= names
    assert len([name for name in names if "Grid" in name and name.endswith("_call_y_entry")]) == 2


@pytest.mark.parametrize("name", ENCODINGS)
def test_encoded__results_and_derivatives__are_those_of_float64(kernels: LoadedFile, name: str) -> None:
    encode, dims = ENCODINGS[name], 3 if name == "dense" else 2
    rows, columns = 9, 12 if name == "hashed" else 10
    w, b = RNG.uniform(-1, 1, (rows, columns)).astype("f4"), RNG.uniform(-1, 1, rows).astype("f4")
    net: dict[str, object] = {"w": w, "b": b}
    table, prefix = None, "net."
    if name in TABLES:
        table = RNG.uniform(-1, 1, TABLES[name]).astype("f4")
        net, prefix = {"grid": {"table": table}, "layer": net}, "net.layer."
    for count in (0, 1, 300):
        x, seed = RNG.uniform(0.02, 0.98, (count, dims)).astype("f4"), RNG.uniform(-1, 1, (count, rows)).astype("f4")
        features = encode(x.astype(float), table)
        d_features = seed.astype(float) @ w
        wanted = {f"{prefix}w": seed.T.astype(float) @ features, f"{prefix}b": seed.sum(0)}
        steps = [encode(x + 1e-30j * np.eye(dims)[axis], table).imag / 1e-30 for axis in range(dims)]
        wanted["x"] = np.stack([(step * d_features).sum(1) for step in steps], -1)
        if count:
            near(kernels[name](net=net, x=x), features @ w.T.astype(float) + b)
        out = kernels[name].backward(net=net, x=x, cotangent=seed)
        for key, gradient in wanted.items():
            near(out[f"grad.{key}"], gradient)
        if table is not None:
            # features are linear in the table: its gradient times a direction is what that direction gives
            for direction in RNG.uniform(-1, 1, (3, *table.shape)):
                along = (d_features * encode(x.astype(float), direction)).sum()
                found = (np.asarray(out["grad.net.grid.table"], float) * direction).sum()
                assert found == pytest.approx(along, rel=1e-5, abs=1e-4 * count**0.5)
    d_x = RNG.uniform(-1, 1, x.shape).astype("f4")
    moved = encode(x + 1e-30j * d_x, table).imag / 1e-30
    near(kernels[name].jvp(net=net, x=x, tangent={"x": d_x})["jvp.result"], moved @ w.T.astype(float))


def near(found: object, expected: np.ndarray) -> None:
    """Assert that arrays agree to 1e-5, by norm."""
    assert np.asarray(found).shape == expected.shape
    assert np.linalg.norm(np.asarray(found) - expected) <= 1e-5 * np.linalg.norm(expected) + 1e-30
