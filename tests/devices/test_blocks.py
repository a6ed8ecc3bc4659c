"""Groups add up the gradients of blocks that have elements of their own: as in float64, and the same on every run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import DEVICES, device_of, largest, loaded, near, need_half

import slangad as sa

if TYPE_CHECKING:
    from slangad.compiler.api.load import Outcome

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).with_name("blocks.py")
SHAPES = ((3, 5), (1, 70), (32, 64), (37, 50), (130, 70))
"""Less than a block; less than one along an axis; whole blocks; blocks that are cut off."""
HALF = """import slangad as sa
from slangad import Each, Sum, Tensor

@sa.kernel(dims=2)
def halves(x: Each[float], w: Tensor[sa.half, 3]) -> Sum[float]:
    s = 0.0
    for k in range(3):
        s += float(w[sa.thread_id(0) // 16, sa.thread_id(1) // 8, k]) * sa.sin(float(k + 1) * x)
    return s
"""


def indices(*shape: int) -> list[np.ndarray]:
    return list(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"))


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(sum(shape) + seed).uniform(0.5, 1.5, shape).astype(np.float32)


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def repeated(device: str, name: str, **given: Any) -> Outcome:
    """What the backward pass of a kernel gives, bit for bit the same on every run and with ``--deterministic``."""
    kernel = loaded(FILE, device)[name]
    first = kernel.backward(**given)
    for again in (kernel.backward(**given), loaded(FILE, device, deterministic=True)[name].backward(**given)):
        for key in (key for key in first if key != "grad.shared"):
            assert first[key].tobytes() == again[key].tobytes(), key
    return first


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_curves__of_blocks__add_to_the_gradient_that_is_there(cxx: object, device: str, shape: tuple[int, int]) -> None:
    x, c, before = drawn(*shape), drawn(9, 6, 8), drawn(9, 6, 8, seed=1)
    at = tuple(i // 16 for i in indices(*shape))
    waves = np.sin(np.arange(1, 9) * wide(x)[..., None])
    value = (wide(c)[at] * waves).sum(-1)
    d_c = wide(before)
    np.add.at(d_c, at, 2 * value[..., None] * waves)
    found = repeated(device, "curves", x=x, c=c, grad={"c": before})
    near(found.result, (value**2).sum())
    near(found.grad["c"], d_c, size=largest(d_c))
    kernel = loaded(FILE, device)["curves"]
    near(kernel(x=x, c=c), (value**2).sum())
    near(kernel.jvp(x=x, c=c, tangent={"c": c}).jvp["result"], 2 * (value**2).sum())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [1, 64, 300, 5000])
def test_table__of_one_axis__has_gradients_of_the_elements_that_it_has(cxx: object, device: str, count: int) -> None:
    blocks = -(-count // 64)
    x, w, d = drawn(count), drawn(32 * blocks + 5), drawn(count, seed=1)
    at = np.arange(count)[:, None] // 64 * 32 + np.arange(32)
    waves = np.sin(np.arange(1, 33) * wide(x)[:, None])
    d_w = np.bincount(at.ravel(), (waves * d[:, None]).ravel(), minlength=len(w))
    found = repeated(device, "table", x=x, w=w, cotangent=d)
    near(found.grad["w"], d_w, size=largest(d_w))
    d_x = (w[at] * np.arange(1, 33) * np.cos(np.arange(1, 33) * wide(x)[:, None])).sum(1) * d
    near(found.grad["x"], d_x, size=largest(d_x))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_palettes__numbered_row_by_row__are_chosen_by_threads(cxx: object, device: str, shape: tuple[int, int]) -> None:
    i, j = indices(*shape)
    across = -(-shape[1] // 8)
    pick = np.random.default_rng(1).integers(-2, 7, shape).astype(np.int32)
    w, d = drawn(4 * across * -(-shape[0] // 8), 3), drawn(*shape, 3)
    at = 4 * (i // 8 * across + j // 8) + pick.clip(0, 3)
    d_w = np.zeros(w.shape)
    np.add.at(d_w, at, wide(d))
    near(repeated(device, "palettes", pick=pick, w=w, cotangent=d).grad["w"], d_w)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_small__blocks_lie_side_by_side_in_a_group(cxx: object, device: str, shape: tuple[int, int]) -> None:
    i, j = indices(*shape)
    x, w = drawn(*shape), drawn(-(-shape[1] // 4), -(-shape[0] // 4), 2)
    at, d_w = (j // 4, i // 4), np.zeros(w.shape)
    np.add.at(d_w, at, np.stack([wide(x), 2 * wide(w)[at][..., 1]], -1) / x.size)
    found = repeated(device, "small", x=x, w=w)
    near(found.result, (wide(w)[at][..., 0] * x + wide(w)[at][..., 1] ** 2).mean())
    near(found.grad["w"], d_w)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_large__blocks_take_several_turns_of_a_group(cxx: object, device: str, shape: tuple[int, int]) -> None:
    i, j = indices(*shape)
    r, c = i // 32 * 3, j // 32 * 4
    x, w = drawn(*shape), drawn(3 * -(-shape[0] // 32), 4 * -(-shape[1] // 32), seed=2)
    m = np.array([0.5, 0.25], np.float32)
    waves = [np.cos(k * wide(x)) for k in range(3)]
    s = sum(wide(w)[r + 1, c + k + 1] * waves[k] for k in range(3)) + 3 * m[0] * wide(w)[r, c + 2]
    d_s, d_w = 2 * s * m[1], np.zeros(w.shape)
    for k in range(3):
        np.add.at(d_w, (r + 1, c + k + 1), d_s * waves[k])
    np.add.at(d_w, (r, c + 2), 3 * m[0] * d_s)
    found = repeated(device, "large", x=x, w=w, m=m)
    near(found.grad["w"], d_w, size=largest(d_w))
    near(found.grad["m"], [(d_s * 3 * wide(w)[r, c + 2]).sum(), (s * s).sum()])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_odd__blocks_leave_threads_of_a_group_idle(cxx: object, device: str, shape: tuple[int, int]) -> None:
    i, j = indices(*shape)
    at, rest = (i // 12, j // 6), (i * 7 + j) % 5
    x, w, shared = drawn(*shape), drawn(11, 12), drawn(5)
    d_w, d_shared = np.zeros(w.shape), np.bincount(rest.ravel(), minlength=5).astype(np.float64)
    np.add.at(d_w, at, wide(x) * shared[3])
    d_shared[3] += (wide(x) * w[at]).sum()
    found = repeated(device, "odd", x=x, w=w, shared=shared, n=3)
    near(found.grad["w"], d_w)
    near(found.grad["shared"], d_shared)
    near(found.grad["x"], wide(w)[at] * shared[3])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(4, 8, 2), (5, 9, 20), (1, 2, 3)])
def test_cells__have_three_axes(cxx: object, device: str, shape: tuple[int, int, int]) -> None:
    i, j, k = indices(*shape)
    at, w = (i // 4, k // 8, j // 2), drawn(2, 3, 5)
    d_w = np.zeros(w.shape)
    np.add.at(d_w, at, 2 * wide(w)[at] * (1.0 + i + j * k))
    near(repeated(device, "cells", w=w, domain=shape).grad["w"], d_w)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("elements", [1, 7, 40])
def test_guarded__elements_past_the_end_of_a_tensor_stay_alone(cxx: object, device: str, elements: int) -> None:
    shape = (37, 50)
    x, w = drawn(*shape), drawn(5, 4, elements)
    i, j = indices(*shape)
    read = [k for k in range(elements) if k % 3 != 2]
    some, d_w = np.where(x > 0.9, wide(x), 0.0), np.zeros(w.shape)
    s = (wide(w)[i // 8, j // 16][..., read] * some[..., None]).sum(-1)
    for k in read:
        np.add.at(d_w[..., k], (i // 8, j // 16), 2 * s * some)
    near(repeated(device, "guarded", x=x, w=w).grad["w"], d_w)


@pytest.mark.parametrize("device", DEVICES)
def test_lanes__have_elements_of_their_own(cxx: object, device: str) -> None:
    x, w = drawn(333), drawn(4 * 333)
    s = wide(w).reshape(-1, 4).sum(1) * x
    near(repeated(device, "lanes", x=x, w=w).grad["w"], np.repeat(2 * s * x, 4))


@pytest.mark.parametrize("device", DEVICES)
def test_halves__are_added_up_in_float(cxx: object, device: str, tmp_path: Path) -> None:
    need_half(device_of(device))
    file = tmp_path / "halves.py"
    file.write_text(HALF)
    x, w = drawn(40, 20), drawn(3, 3, 3).astype(np.float16)
    i, j = indices(40, 20)
    d_w = np.zeros(w.shape)
    np.add.at(d_w, (i // 16, j // 8), np.sin(np.arange(1, 4) * wide(x)[..., None]))
    found = sa.load(file, device_of(device).name)["halves"].backward(x=x, w=w).grad["w"]
    near(found, d_w, 1e-3 if found.dtype == np.float16 else 1e-5, size=largest(d_w))
