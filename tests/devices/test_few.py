"""Gradients of tensors of which all threads read the same few elements: each thread has sums of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import near

from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("few.py")
COUNTS = (0, 1, 257, 70_001, 1 << 22)


def numbers(count: int) -> np.ndarray:
    return np.random.default_rng(count).uniform(0.5, 1.5, count).astype(np.float32)


def test_accumulation__indices_that_have_bounds__is_a_sum() -> None:
    buffers = {b.key: (b.accumulation.value, b.reach) for b in run_passes(load(DESCRIBED)).buffers}
    assert buffers["line.w"] == ("sum", (4,))
    assert buffers["network.w"] == ("sum", (2, 3))
    assert buffers["vectors.w"] == buffers["vectors.h"] == ("sum", (4,))
    assert buffers["plane.w"] == ("sum", (2, 3, 3))
    assert buffers["any_element.w"] == ("shared", ())


@pytest.mark.parametrize("count", COUNTS)
def test_few__known_indices__have_the_sums_of_float64(kernels: LoadedFile, count: int) -> None:
    x = numbers(count)
    wide = x.astype(np.float64)
    out = kernels.line.backward(x, np.ones(5, np.float32), cotangent=2.0)
    near(out.grad["w"], [2 * (wide**2).sum(), 2 * wide.sum(), 0.0, 2 * count, 0.0])
    again = kernels.line.backward(x, np.ones(5, np.float32), cotangent=2.0)
    assert np.array_equal(out.grad["w"], again.grad["w"])


@pytest.mark.parametrize("count", COUNTS)
def test_few__loops_and_calls__have_the_sums_of_float64(kernels: LoadedFile, count: int) -> None:
    x = numbers(count)
    wide = x.astype(np.float64)
    w = np.arange(8, dtype=np.float32).reshape(2, 4)
    out = kernels.network.backward(x, w, 0.5)
    falling = np.array([1.0, 0.5, 0.25])
    near(out.grad["w"], [[*(wide.sum() * falling), 0.0], [*(0.5 * (wide**2).sum() * falling), 0.0]])
    near(out.grad["b"], (wide**2).sum() * (w[1, :3] @ falling))
    near(out.grad["x"], w[0, :3] @ falling + wide * (w[1, :3] @ falling))


@pytest.mark.half
@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_few__tensor_shorter_than_the_bound__gets_what_it_has_room_for(kernels: LoadedFile, length: int) -> None:
    x = numbers(1000)
    wide = x.astype(np.float64)
    w, h = np.ones((length, 3), np.float32), np.full(length, 2.0, np.float16)
    start = np.full((length, 3), 7.0, np.float32)
    out = kernels.vectors.backward(x, w, h, grad={"w": start})
    row = 2.0 * np.array([wide.sum(), (wide**2).sum(), 1000.0])
    near(out.grad["w"], np.tile(7.0 + row, (length, 1)))
    near(out.grad["h"], np.full(length, row.sum() / 2.0), 1e-3)


def test_few__three_axes_and_negative_steps__go_to_their_places(kernels: LoadedFile) -> None:
    x = numbers(300)
    out = kernels.plane.backward(x, np.zeros((3, 4, 5), np.float32))
    expected = np.zeros((3, 4, 5))
    for i, j in ((0, 1), (0, 2), (1, 1), (1, 2)):
        expected[i, j, 2 - i] = x.astype(np.float64).sum()
    near(out.grad["w"], expected)


def test_shared__index_known_only_when_it_runs__has_the_sum_of_float64(kernels: LoadedFile) -> None:
    x = numbers(70_001)
    out = kernels.any_element.backward(x, 2, np.ones(5, np.float32))
    near(out.grad["w"], [0.0, 0.0, x.astype(np.float64).sum(), 0.0, 0.0])
