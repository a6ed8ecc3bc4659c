"""Sums, scattered gradients and tensors on every device: right within 1e-5 of float64, for any number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import largest, near

from slangad.compiler.runtime.arrays.prepare import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("memories.py")
COUNTS = (1, 63, 257, 70_001)
MANY = 1 << 24
LINE = {"slope": 1.5, "bias": [1.0, -2.0, 0.5]}


@pytest.mark.parametrize("count", [*COUNTS, MANY])
def test_sums__any_number_of_threads__are_those_of_float64(kernels: LoadedFile, count: int) -> None:
    x = np.random.default_rng(count).uniform(0.5, 1.5, count).astype(np.float32)
    wide = x.astype(np.float64)
    seeds = (2.0, [1.0, 0.5, 0.0])
    out = kernels.sums.backward(x, LINE, cotangent=seeds)
    near(out.result[0], 1.5 * (wide**2).sum())
    near(out.result[1], np.array(LINE["bias"]) * wide.mean())
    near(out.grad["p"]["slope"], 2.0 * (wide**2).sum())
    near(out.grad["p"]["bias"], np.array(seeds[1]) * wide.mean())
    again = kernels.sums.forward(x, LINE)
    near(again.result[0], out.result[0])


def test_sums__over_nothing__are_zero(kernels: LoadedFile) -> None:
    out = kernels.sums.backward(np.zeros(0, np.float32), LINE)
    near(out.result[0], 0.0)
    near(out.result[1], np.zeros(3))
    near(out.grad["p"]["slope"], 0.0)
    out = kernels.collide.backward(np.zeros(0, np.int32), np.zeros(0, np.float32), np.ones((4, 3), np.float32))
    near(out.grad["w"], np.zeros((4, 3)))
    near(kernels.probed.backward(np.zeros(0, np.float32)).probe["y"], np.zeros(0))


def test_sums__ten_times__have_the_same_bits(kernels: LoadedFile) -> None:
    x = np.random.default_rng(5).normal(size=100_003).astype(np.float32)
    first = kernels.sums.backward(x, LINE)
    for _ in range(9):
        again = kernels.sums.backward(x, LINE)
        assert all(np.array_equal(first[key], again[key]) for key in first)


def test_gradients__given_before__are_added_to(kernels: LoadedFile) -> None:
    x = np.array([1, 2, 3], np.float32)
    plain = kernels.sums.backward(x, LINE)
    more = kernels.sums.backward(x, LINE, grad={"p": {"slope": 100.0, "bias": [1.0, 2.0, 3.0]}})
    near(more.grad["p"]["slope"], plain.grad["p"]["slope"] + 100.0)
    near(more.grad["p"]["bias"], plain.grad["p"]["bias"] + np.array([1.0, 2.0, 3.0]))
    at, g, w = np.array([0, 1, 1], np.int32), np.ones(3, np.float32), np.ones((2, 3), np.float32)
    plain = kernels.collide.backward(at, g, w)
    more = kernels.collide.backward(at, g, w, grad={"w": np.full((2, 3), 7.0)})
    near(more.grad["w"], plain.grad["w"] + 7.0)


def test_sums__two_axes__use_the_threads_places(kernels: LoadedFile) -> None:
    x = np.random.default_rng(2).uniform(0.5, 1.5, (37, 53)).astype(np.float32)
    places = np.add.outer(np.arange(37.0), 2.0 * np.arange(53.0))
    out = kernels.plane.backward(x, 3.0)
    near(out.grad["p"], (x * places).sum())
    near(out.grad["x"], 3.0 * places)


@pytest.mark.parametrize("size", [1, 5, 3000])
@pytest.mark.parametrize("count", [*COUNTS, MANY])
def test_scattered__any_number_of_threads__is_the_sum_of_float64(kernels: LoadedFile, count: int, size: int) -> None:
    rng = np.random.default_rng(count + size)
    at = rng.integers(0, size, count).astype(np.int32)
    g = rng.uniform(0.5, 1.5, count).astype(np.float32)
    w = rng.uniform(0.5, 1.5, (size, 3)).astype(np.float32)
    out = kernels.collide.backward(at, g, w)
    total = np.bincount(at, g.astype(np.float64), size)[:, None]
    near(out.grad["w"], total * np.stack([np.ones(size), 2.0 * w[:, 2], 2.0 * w[:, 1]], 1))


@pytest.mark.parametrize("hot", [1, 3])
def test_scattered__a_large_tensor_with_hot_elements__is_the_sum_of_float64(kernels: LoadedFile, hot: int) -> None:
    count, size = 1 << 22, 400_000
    rng = np.random.default_rng(hot)
    at = np.where(rng.random(count) < 0.9, size // 2 + rng.integers(0, hot, count), rng.integers(0, size, count))
    g = rng.uniform(0.5, 1.5, count).astype(np.float32)
    out = kernels.collide.backward(at.astype(np.int32), g, np.ones((size, 3), np.float32))
    total = np.bincount(at, g.astype(np.float64), size)[:, None]
    near(out.grad["w"], total * np.array([1.0, 2.0, 2.0]))


@pytest.mark.parametrize("apart", [0, 1, 528])
def test_scattered__equal_gradients_at_few_elements__do_not_round_in_one_direction(
    kernels: LoadedFile, apart: int
) -> None:
    count, size = 1 << 22, 400_000  # (elements 0 and 528 would like the same slot of a group's memory)
    at = np.arange(count) % 2 * apart
    out = kernels.collide.backward(at.astype(np.int32), np.full(count, 0.1, np.float32), np.ones((size, 3), np.float32))
    total = np.bincount(at, np.full(count, np.float32(0.1), np.float64), size)[:, None]
    near(out.grad["w"], total * np.array([1.0, 2.0, 2.0]))


@pytest.mark.parametrize("value", [0.1, 0.7])
def test_scattered__equal_gradients_at_more_elements_than_groups_keep__do_not_round_in_one_direction(
    kernels: LoadedFile, value: float
) -> None:
    count = size = 1 << 21
    at = np.random.default_rng(1).integers(0, 600, count) * 7919 % size
    out = kernels.gather.backward(
        at.astype(np.int32), np.zeros(size, np.float32), cotangent=np.full(count, value, np.float32)
    )
    near(out.grad["w"], np.bincount(at, np.full(count, np.float32(value), np.float64), size))


@pytest.mark.parametrize("count", COUNTS)
def test_tensors__of_a_thread_and_of_its_neighbour__have_their_gradients(kernels: LoadedFile, count: int) -> None:
    w = np.random.default_rng(count).normal(size=count).astype(np.float32)
    g = np.random.default_rng(count + 1).normal(size=count).astype(np.float32)
    out = kernels.own.backward(w, domain=count, cotangent={"out": g})
    near(out.grad["w"], 2.0 * w * g)
    following = np.minimum(np.arange(count) + 1, count - 1)
    near(kernels.neighbours.forward(w, domain=count).outputs["out"], w * w[following])
    expected = g * w[following]
    np.add.at(expected, following, g * w)
    size = np.abs(g * w[following])
    np.add.at(size, following, np.abs(g * w))
    near(kernels.neighbours.backward(w, domain=count, cotangent={"out": g}).grad["w"], expected, size=size)


def test_tensors__changed_in_place__have_gradients_in_and_out(kernels: LoadedFile) -> None:
    v, g, seed = (np.random.default_rng(n).normal(size=1001).astype(np.float32) for n in (1, 2, 3))
    near(kernels.in_place.forward(v, g).outputs["v"], v * v * g)
    out = kernels.in_place.backward(v, g, cotangent={"v": seed})
    near(out.grad["v"], 2.0 * v * g * seed)
    near(out.grad["g"], v * v * seed)
    product = kernels.in_place.jtjvp(v, g, tangent={"v": seed})
    near(product.grad["v"], (2.0 * v * g) ** 2 * seed)


def test_textures__sampled__carry_gradients_to_texels_and_coordinates(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(7)
    t, u = rng.uniform(size=(5, 4, 3)).astype(np.float32), rng.uniform(size=(3, 6, 4)).astype(np.float32)
    uv, direction = (rng.uniform(-1.0, 2.0, (500, 2)).astype(np.float32) for _ in range(2))
    moved = kernels.sample.jvp(uv, t, u, tangent={"uv": direction, "t": t, "u": u})
    out = kernels.sample.backward(uv, t, u, cotangent=moved.result)
    along = sum(float((out.grad[name] * given).sum()) for name, given in (("uv", direction), ("t", t), ("u", u)))
    near(float((moved.jvp["result"] * moved.result).sum()), along, 2e-3)
    expected = reference(uv, t, u)
    near(moved.result, expected, 8e-3, size=largest(expected))


def test_textures__sampled__have_the_gradients_of_differences(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(8)
    given = {"uv": rng.uniform(-3.0, 4.0, (200, 2)), "t": rng.uniform(size=(5, 4, 3)), "u": rng.uniform(size=(3, 6, 4))}
    given = {name: array.astype(np.float32).astype(np.float64) for name, array in given.items()}
    seed = rng.uniform(0.5, 1.5, 200)
    found = kernels.sample.backward(*(a.astype(np.float32) for a in given.values()), cotangent=seed.astype(np.float32))
    weights = 1e-4 if kernels.sample.device == "cpu" else 2e-2  # hardware may filter with eight bits
    for name in ("t", "u"):
        slopes = differences(given, name, lambda results: float(seed @ results))
        near(found.grad[name], slopes, weights, size=largest(slopes))
    step = 1e-6
    for axis in range(2):
        ends = [reference(given["uv"] + s * np.eye(2)[axis], given["t"], given["u"]) for s in (step, -step)]
        places = given["uv"][:, axis, None] * [(4, 6), (5, 3)][axis] - 0.5
        smooth = (np.abs(places - np.round(places)) > 1e-3).all(axis=1)
        assert smooth.sum() > 150
        slopes = (seed * (ends[0] - ends[1]) / (2 * step))[smooth]
        near(found.grad["uv"][smooth, axis], slopes, weights, size=largest(slopes))


def differences(given: dict[str, np.ndarray], name: str, total: Callable[[np.ndarray], float]) -> np.ndarray:
    """Central differences of a number made of ``sample``'s results, for every element of one argument."""
    slopes = np.zeros(given[name].size)
    for k in range(slopes.size):
        ends = []
        for step in (1e-4, -1e-4):
            moved = given[name].copy()
            moved.reshape(-1)[k] += step
            ends.append(total(reference(*({**given, name: moved}).values())))
        slopes[k] = (ends[0] - ends[1]) / 2e-4
    return slopes.reshape(given[name].shape)


@pytest.mark.parametrize("far", [3e4, 1e7, 3e9, 1e30, np.inf, np.nan])
def test_textures__sampled_far_outside__stay_inside(kernels: LoadedFile, far: float) -> None:
    t, u = np.full((1, 3, 3), 2.0, np.float32), np.full((1, 3, 4), 3.0, np.float32)
    uv = np.array([[far, 0.5], [-far, 0.5], [0.5, far]], np.float32)
    out = kernels.sample.backward(uv, t, u)
    if abs(far) <= 3e9:
        near(kernels.sample(uv, t, u), np.full(3, 2.0 + 2.0 * 4.0 + 3.0))
        near(out.grad["t"].sum(axis=(0, 1)), 3 * np.array([1.0, 4.0, 4.0]))
        near(out.grad["u"].sum(axis=(0, 1)), np.array([0.0, 0.0, 0.0, 3.0]))


def test_textures__clamped_far_outside__have_the_texels_of_the_edge(kernels: LoadedFile) -> None:
    t = np.arange(12, dtype=np.float32).reshape(3, 4)
    uv = np.array([[3e9, 2.0], [1e30, -1e30], [-1e30, 0.5]], np.float32)
    out = kernels.edge.backward(uv, t)
    near(kernels.edge(uv, t), [11.0, 3.0, 4.0])
    wanted = np.zeros((3, 4))
    wanted[2, 3] = wanted[0, 3] = wanted[1, 0] = 1.0
    near(out.grad["t"], wanted)


def test_scattered__gradients_that_are_no_numbers__stay_so(kernels: LoadedFile) -> None:
    given = np.array([np.nan, 1.0, np.inf, -np.inf], np.float32)
    out = kernels.collide.backward(np.array([0, 1, 2, 2], np.int32), given, np.ones((3, 3), np.float32))
    assert np.isnan(out.grad["w"][0]).all()
    near(out.grad["w"][1], [1.0, 2.0, 2.0])
    assert np.isnan(out.grad["w"][2]).all()


def reference(uv: np.ndarray, t: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The results of ``sample`` in numpy."""

    def bilinear(texels: np.ndarray, fold: object) -> np.ndarray:
        height, width = texels.shape[:2]
        x, y = uv[:, 0].astype(np.float64) * width - 0.5, uv[:, 1].astype(np.float64) * height - 0.5
        found = np.zeros((len(uv), texels.shape[2]))
        for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
            column, row = np.floor(x).astype(int) + dx, np.floor(y).astype(int) + dy
            weight = (1 - abs(x - column)) * (1 - abs(y - row))
            found += weight[:, None] * texels[fold(row, height), fold(column, width)]
        return found

    def mirror(at: np.ndarray, size: int) -> np.ndarray:
        inside = at % (2 * size)
        return np.where(inside < size, inside, 2 * size - 1 - inside)

    c = bilinear(t, lambda at, size: at % size)
    return c[:, 0] + 2.0 * c[:, 1] * c[:, 2] + bilinear(u, mirror)[:, 3]


def test_probes__of_intermediate_values__record_their_gradients(kernels: LoadedFile) -> None:
    x = np.linspace(-2, 2, 101).astype(np.float32)
    out = kernels.probed.backward(x)
    near(out.probe["y"], 2.0 * x * x)
    near(out.grad["x"], 4.0 * x**3)


def test_probe__beside_entries_at_run_time_indices__records_its_gradient(kernels: LoadedFile) -> None:
    x = np.random.default_rng(4).normal(size=(2, 4)).astype(np.float32)
    out = kernels.probed_entry.backward(x, np.array([0, 2], np.int32))
    z = np.array([x[0, 3] + x[0, 0], x[1, 0] + 2.0 * x[1, 0]])
    near(out.probe["z"], 2.0 * z)
    near(out.grad["x"], [[2.0 * z[0], 0.0, 0.0, 2.0 * z[0]], [6.0 * z[1], 0.0, 0.0, 0.0]])


def test_arrays__that_can_not_be_written__are_taken_everywhere(kernels: LoadedFile) -> None:
    def fixed(values: object) -> np.ndarray:
        array = np.array(values, np.float32)
        array.flags.writeable = False
        return array

    v, g = fixed([1, 2, 3]), fixed([2, 3, 4])
    near(kernels.in_place.forward(v, g).outputs["v"], v * v * g)
    out = kernels.in_place.backward(v, g, cotangent={"v": g}, grad={"g": v})
    near(out.grad["g"], v * v * g + v)
    moved = kernels.in_place.jvp(v, g, tangent={"v": g})
    near(moved.jvp["v"], 2.0 * v * g * g)
    near(kernels.own(np.broadcast_to(np.float32(3.0), (4,)), domain=4), np.full(4, 9.0))
    uv, t, u = fixed([[0.3, 0.6]]), fixed(np.ones((5, 4, 3))), fixed(np.ones((3, 6, 4)))
    near(kernels.sample(uv, t, u), [4.0], 1e-2)
    near(kernels.sample.backward(uv, t, u, cotangent=fixed([1.0])).grad["u"].sum(), 1.0, 1e-2)
    near(kernels.edge(uv, fixed(np.full((2, 2), 0.5))), [0.5], 1e-2)


@pytest.mark.parametrize("shape", [(0, 4), (2, 0)])
def test_textures__without_texels__are_refused(kernels: LoadedFile, shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"t has shape .*, a texture without texels \[SA412\]"):
        kernels.edge(np.full((3, 2), 0.5, np.float32), np.zeros(shape, np.float32))
