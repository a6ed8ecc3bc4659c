"""Lists of items by tile: on every device those of Python, bit by bit; too long ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.errors.diagnostics import CompileError

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("lists.py")
DEPTHS = np.array([-np.inf, -1.5, -1e-40, -0.0, 0.0, 1e-40, 1e-30, 2.0, 3e38, np.inf, np.nan, -np.nan], np.float32)
CASES = (("line", (300,), 9000), ("plane", (1, 1), 70), ("plane", (37, 21), 5000), ("plane", (4, 3), 0),
         ("plane", (4, 3), 1), ("plane", (0, 3), 9), ("space", (5, 2, 7), 400))  # fmt: skip


@pytest.mark.parametrize(("name", "tiles", "items"), CASES)
def test_lists__on_a_device__are_those_of_python(
    kernels: LoadedFile, name: str, tiles: tuple[int, ...], items: int
) -> None:
    rng = np.random.default_rng(items)
    axes = () if name == "line" else (len(tiles),)
    low = rng.integers(-4, max(tiles) + 2, (items, *axes)).astype(np.int32)
    high = low + rng.integers(-2, 5, low.shape).astype(np.int32)
    depth = (
        [] if name == "line" else [np.where(rng.random(items) < 0.5, rng.choice(DEPTHS, items), rng.normal(size=items))]
    )
    depth = [one.astype(np.float32) for one in depth]
    needed = int(sa.bin(low, high, tiles=tiles, capacity=16 * items)[1].sum())
    for room in (needed, needed + 333):
        expected = sa.bin(low, high, *depth, tiles=tiles, capacity=room)
        arrays = (low, high, *depth, np.zeros(tiles, np.int32), np.zeros(room, np.int32))
        found = getattr(kernels, name).forward(*arrays).result
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(found, expected, strict=True))
    if needed:
        with pytest.raises(CompileError, match=f"need {needed} places, and its capacity is {needed - 1}") as refused:
            getattr(kernels, name).forward(*arrays[:-1], np.zeros(needed - 1, np.int32))
        assert refused.value.diagnostics[0].code == "SA429"


def test_lists__in_training__are_made_at_each_step(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(1)
    low = rng.integers(0, 9, 40).astype(np.int32)
    given = {
        "x": rng.uniform(-0.1, 0.1, 40).astype(np.float32),
        "low": low,
        "high": low + 2,
        "seen": np.zeros(9, np.int32),
    }
    trained = kernels.waves.train(**given, steps=12)
    for step in (0, 5):
        x = kernels.waves.train(**given, steps=step).parameters["x"] if step else given["x"]
        lists = sa.bin(low, low + 2, x, tiles=9, capacity=160)
        values = wave(*lists, x)
        np.testing.assert_allclose(trained.losses[step], values, rtol=1e-5)


def wave(start: np.ndarray, count: np.ndarray, order: np.ndarray, x: np.ndarray) -> float:
    total = 0.0
    for first, length in zip(start, count, strict=True):
        height = 0.5
        for item in order[first : first + length]:
            height = height - 0.2 * height**3 + x[item] * height
        total += height
    return total
