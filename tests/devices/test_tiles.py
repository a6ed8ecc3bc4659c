"""Threads of a block that read the same element add up its gradient together; domains need not be whole tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import DEVICES, loaded, near

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).with_name("tiles.py")
SHAPES = ((3, 5), (16, 16), (37, 50))


def indices(*shape: int) -> list[np.ndarray]:
    return list(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"))


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape).astype(np.float32)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks__add_up_what_all_their_threads_add(cxx: object, device: str, shape: tuple[int, int]) -> None:
    x, w, c = random(*shape), random(3, 4), random(3, 4, 3)
    kernel = loaded(FILE, device)["blocks"]
    found = kernel.backward(x=x, w=w, c=c)
    i, j = indices(*shape)
    at = (i // 16 % 2, j // 16)
    wide, v = w.astype(np.float64), c.astype(np.float64)
    wanted = (x * wide[at] ** 2 + v[at][..., 0] * v[at][..., 1] * x + v[at][..., 2]).sum()
    d_w, d_c = np.zeros(w.shape), np.zeros(c.shape)
    np.add.at(d_w, at, 2 * x * wide[at])
    np.add.at(d_c, at, np.stack([v[at][..., 1] * x, v[at][..., 0] * x, np.ones(shape)], -1))
    near(found.result, wanted)
    near(kernel(x=x, w=w, c=c), wanted)
    near(found.grad["w"], d_w)
    near(found.grad["c"], d_c)
    along = kernel.jvp(x=x, w=w, c=c, tangent={"w": w})
    near(along.jvp["result"], (d_w * w).sum())


@pytest.mark.parametrize("device", DEVICES)
def test_tile__of_the_kernel__does_not_change_results(cxx: object, device: str) -> None:
    x, w = random(37, 50), random(3, 2)
    i, j = indices(37, 50)
    at, wide = (i // 16 % 2, j // 32), w.astype(np.float64)
    d_w = np.zeros(w.shape)
    np.add.at(d_w, at, 2 * x * wide[at])
    for name in ("two_at_a_time", "large", "in_rows"):
        found = loaded(FILE, device)[name].backward(x=x, w=w)
        near(found.result, (x * wide[at] ** 2).sum())
        near(found.grad["w"], d_w)
        near(found.grad["x"], wide[at] ** 2)


@pytest.mark.parametrize("device", DEVICES)
def test_outputs_without_gradient__are_stored_by_the_kernel_and_not_by_its_backward_pass(
    cxx: object, device: str
) -> None:
    x, w, kernel = random(37, 50), random(3, 4), loaded(FILE, device)["marked"]
    i, j = indices(37, 50)
    at, v = (i // 16 % 2, j // 16), x * w.astype(np.float64)[i // 16 % 2, j // 16]
    stored = kernel.forward(x=x, w=w)
    np.testing.assert_array_equal(stored.outputs["ids"], 100 * i + j)
    near(stored.outputs["seen"], v)
    found = kernel.backward(x=x, w=w)
    d_w = np.zeros(w.shape)
    np.add.at(d_w, at, 2 * x * v)
    near(found.result, (v * v).sum())
    near(found.grad["w"], d_w)
    near(found.grad["x"], 2 * v * w[at])


def listed_value(x: np.ndarray, order: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    i, j = indices(*x.shape)
    block = (i // 8) * ((x.shape[1] + 15) // 16) + j // 16
    light, t = 0j * x, 0j * x + 1
    for k in range(4):
        g = order[block + k]
        alpha = 0.5 * np.sin(w[g, 0] * x) * np.sin(w[g, 1])
        alpha = np.where((k < block % 3 + 2) & (alpha.real >= 0.02), alpha, 0)
        light = light + t * alpha * b[g]
        t = t * (1 - alpha)
    return light


@pytest.mark.parametrize("device", DEVICES)
def test_lists__of_a_block__have_the_gradient_of_float64(cxx: object, device: str) -> None:
    x, w, b = random(20, 40), random(7, 2), random(7)
    order = np.random.default_rng(1).integers(0, 7, 20).astype(np.int32)
    found = loaded(FILE, device)["listed"].backward(x=x, order=order, w=w, b=b)
    for name, given, grad in (("w", w, found.grad["w"]), ("b", b, found.grad["b"])):
        wanted = np.zeros(given.shape)
        for place in np.ndindex(given.shape):
            moved = {"w": w.astype(complex), "b": b.astype(complex)}
            moved[name][place] += 1e-30j
            wanted[place] = listed_value(x.astype(np.float64), order, **moved).imag.sum() / 1e-30
        near(grad, wanted, size=abs(wanted).max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(4, 8, 8), (5, 9, 20), (3, 2, 2)])
def test_blocks__of_three_axes(cxx: object, device: str, shape: tuple[int, int, int]) -> None:
    w, apart = random(2, 2, 3), random(5)
    found = loaded(FILE, device)["cells"].backward(w=w, apart=apart, domain=shape)
    i, j, k = indices(*shape)
    at, rest = (i // 4, j // 8 % 2, k // 8), (i + j + k) % 5
    v, size = w.astype(np.float64)[at], 1.0 + i + j * k
    d_w, d_apart = np.zeros(w.shape), np.zeros(5)
    np.add.at(d_w, at, 2 * v * size + apart.astype(np.float64)[rest])
    np.add.at(d_apart, rest, v)
    near(found.result, (v * v * size + apart.astype(np.float64)[rest] * v).sum())
    near(found.grad["w"], d_w)
    near(found.grad["apart"], d_apart)


@pytest.mark.parametrize("device", DEVICES)
def test_rows__of_one_axis(cxx: object, device: str) -> None:
    x, w, b = random(300), random(5), random(5)
    found = loaded(FILE, device)["rows"].backward(x=x, w=w, b=b)
    r, wide = np.arange(300) // 64 % 3, x.astype(np.float64)
    near(found.grad["w"], np.bincount(r, wide * np.exp(w[r] * wide), minlength=5))
    near(found.grad["b"], np.bincount(r, minlength=5).astype(np.float64))
    near(found.grad["x"], w[r] * np.exp(w[r] * wide))
