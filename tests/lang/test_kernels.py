"""Kernels in Python: threads over arrays, results, tensors, textures; what their decorators refuse."""

# ruff: noqa: UP037, F821  (words inside Texture2D[...] are options, not names)

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa
from slangad import (
    Array,
    Each,
    InOutTensor,
    Mean,
    NoDiff,
    OutTensor,
    Param,
    Sum,
    Tensor,
    Texture2D,
    Uniform,
    float2,
    float3,
)

if TYPE_CHECKING:
    from pathlib import Path


@sa.struct
class Material:
    albedo: float3
    roughness: float


@sa.kernel
def fit(light: Each[float3], target: NoDiff[Each[float]], m: Param[Material]) -> Sum[float]:
    r = sa.dot(light, m.albedo) - target
    return r * r


@sa.kernel
def shade(m: Each[Material], scale: Uniform[float]) -> tuple[Each[Material], Each[Array[float, 2]], Mean[float3]]:
    return Material(m.albedo * scale, m.roughness), Array[float, 2](m.roughness, scale), m.albedo


@sa.kernel(dims=2, group_size=(4, 4))
def transposed(a: Tensor[float, 2], out: OutTensor[float, 2], seen: InOutTensor[int, 1]) -> None:
    i = sa.thread_id(0)
    j = sa.thread_id(1)
    out[i, j] = a[j, i] + sa.thread_count(0)
    seen[i] += 1


@sa.kernel
def fetch(
    uv: Each[float2], image: Texture2D[float3, "repeat"], smooth: sa.texture(float)
) -> tuple[Each[float3], Each[float]]:
    return image.sample(uv), smooth.sample(uv)


@sa.kernel
def count() -> Sum[int]:
    return sa.thread_id(0)


@sa.kernel
def average(x: Each[float]) -> Mean[float]:
    return x


def test_kernel__sum_over_threads__is_their_sum() -> None:
    light = np.arange(6.0).reshape(2, 3)
    expected = (light @ [1, 2, 3] - [1, 2]) ** 2
    assert fit(light, np.array([1.0, 2.0]), Material(float3(1, 2, 3), 0.5)) == expected.sum()


def test_kernel__numbers_as_files_give_them__are_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", scale=np.float32(2.0), roughness=0.25, albedo=np.ones(3, np.float32))
    given = np.load(tmp_path / "in.npz")
    m = {"albedo": given["albedo"][None], "roughness": given["roughness"][None]}
    result, pairs, _ = shade(m, given["scale"])
    assert pairs.tolist() == [[0.25, 2.0]]
    assert result["albedo"].tolist() == [[2.0, 2.0, 2.0]]
    one = {"albedo": given["albedo"], "roughness": given["roughness"]}
    assert fit(np.ones((2, 3), np.float32), [1.0, 1.0], one) == 8.0


def test_kernel__structs_of_arrays__in_and_out() -> None:
    albedo = np.arange(6.0).reshape(2, 3)
    m, pairs, mean = shade({"albedo": albedo, "roughness": np.array([0.5, 1.5])}, 2.0)
    assert m["albedo"].tolist() == (albedo * 2).tolist()
    assert m["roughness"].dtype == np.float32
    assert pairs.tolist() == [[0.5, 2.0], [1.5, 2.0]]
    assert np.asarray(mean).tolist() == albedo.mean(axis=0).tolist()
    flat, _, _ = shade({"albedo": albedo, "roughness": np.zeros(2)}, scale=1.0)
    assert flat["roughness"].tolist() == [0, 0]


def test_kernel__tensors__are_read_and_written_in_place() -> None:
    out, seen = np.zeros((2, 3), np.float32), np.zeros(2, np.int32)
    a = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert transposed(a, out, seen, domain=(2, 3)) is None
    assert out.tolist() == (a.T + 2).tolist()
    assert seen.tolist() == [3, 3]


def test_kernel__texture__filters_and_wraps() -> None:
    image = np.arange(12.0).reshape(2, 2, 3)
    smooth = np.array([[0.0, 1.0], [2.0, 3.0]])
    colours, values = fetch(np.array([[0.25, 0.25], [0.5, 0.25], [0.5, 0.5], [1.25, 0.25], [0.0, 0.0]]), image, smooth)
    assert colours[:4, 0].tolist() == [0.0, 1.5, 4.5, 0.0]
    assert colours[4, 0] == 4.5, "repeat averages all four"
    assert values.tolist() == [0.0, 0.5, 1.5, 1.0, 0.0]


def test_kernel__no_threads__zero() -> None:
    assert count(domain=0) == 0
    assert average(np.zeros(0)) == 0
    assert count(domain=4) == 6


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(np.ones((4, 3)), np.ones(5), Material(float3(1), 1)), ValueError, "light has .*, target has"),
        (lambda: fit(np.ones((4, 2)), np.ones(4), Material(float3(1), 1)), ValueError, "last axes of float3"),
        (lambda: fit(np.ones((4, 3)), np.array(["a"]), Material(float3(1), 1)), TypeError, "target holds"),
        (lambda: fit(np.ones((2, 4, 3)), np.ones((2, 4)), Material(float3(1), 1)), ValueError, "has 1 dims"),
        (count, ValueError, "the domain of count is unknown"),
        (lambda: count(domain=4, device="cpu"), TypeError, r"count\(…\) runs in Python, on no device: count.forward\("),
        (lambda: shade({"albedo": np.ones((2, 3))}, 1.0), TypeError, "m misses field roughness"),
        (lambda: transposed(np.ones((2, 2)), np.ones((2, 2)), np.ones(2, np.int32)), TypeError, "out is written"),
    ],
)
def test_kernel__arguments_that_do_not_fit__are_named(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@sa.kernel
def reads_output(out: OutTensor[float, 1]) -> None:
    out[0] = out[0] + 1.0


@sa.kernel
def writes_input(a: Tensor[float, 1]) -> None:
    a[0] = 1.0


@sa.kernel
def wrong_axis(x: Each[float]) -> Each[int]:
    return sa.thread_id(1)


def test_kernel__misused_tensor_or_axis__is_refused() -> None:
    with pytest.raises(TypeError, match="out is an OutTensor and can't be read"):
        reads_output(np.zeros(1, np.float32))
    with pytest.raises(TypeError, match="a is a Tensor and can't be written"):
        writes_input(np.zeros(1, np.float32), domain=1)
    with pytest.raises(sa.DescriptionError, match=r"axis 1 of sa\.thread_id in a kernel of 1 dims"):
        wrong_axis(np.zeros(1))


@sa.pipeline(optimizer=sa.Adam(lr=0.02))
def fit_all(x: Tensor[float, 1], target: NoDiff[Tensor[float, 1]]) -> Mean[float]:
    return average(x)


def test_pipeline__called__runs_its_kernels() -> None:
    assert fit_all(np.array([1.0, 3.0]), np.zeros(2)) == 2.0
    assert fit_all.optimizer == sa.Adam(lr=0.02, beta1=0.9, beta2=0.999, eps=1e-8)


def body(x: Each[float]) -> Each[float]:
    return x


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": 4}, "dims= of body is 4"),
        ({"group_size": 0}, "not positive integers"),
        ({"dims": 2, "group_size": (8,)}, "has 1 numbers for 2 dims"),
        ({"group_size": 2048}, "2048 threads"),
        ({"dims": 2, "tile": "columns"}, r"tile= of body is 'columns' \(tile=\(16, 16\), or tile='rows'\)"),
        ({"dims": 2, "tile": ()}, r"tile= of body is \(\) "),
        ({"tile": "rows"}, r"for two or three axes, and the domain has one \(dims=2, or no tile\)"),
        ({"dims": 3, "tile": (8, 8)}, r"has 2 numbers for 3 dims \(one per axis\)"),
        ({"dims": 2, "tile": (12, 16)}, "12 x 16, which are not powers of two"),
        ({"dims": 2, "tile": (0, 16)}, "0 x 16, which are not powers of two"),
        ({"dims": 2, "tile": (64, 32)}, r"has 2048 threads \(at most 1024\)"),
        ({"dims": 2, "tile": (16, 16), "group_size": (8, 8)}, "has 256 threads, and a group 64"),
        ({"threads": 3}, "unknown keyword threads="),
    ],
)
def test_kernel__options_that_make_no_sense__are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(sa.DescriptionError, match=message):
        sa.kernel(**options)(body)


def test_kernel__options__have_defaults_by_dims() -> None:
    assert (fit.dims, fit.group_size) == (1, (64,))
    assert (transposed.dims, transposed.group_size) == (2, (4, 4))
    assert sa.kernel(dims=3)(body).group_size == (4, 4, 4)
    assert sa.kernel(group_size=32)(body).group_size == (32,)
    tiled, rows = sa.kernel(dims=2, tile=(4, 16))(body), sa.kernel(dims=2, tile="rows")(body)
    assert (fit.tile, tiled.tile, tiled.group_size) == (None, (4, 16), (4, 16))
    assert (rows.tile, rows.group_size) == ((), (8, 8))


GRID = np.arange(12, dtype=np.int32).reshape(3, 4)
PAIRS = ((1.0, 2.0), (3.0, 4.0))


@sa.kernel
def looked_up(x: Each[float], i: Each[int]) -> Each[float]:
    return x * GRID[i, 2] + PAIRS[i, 1] + PAIRS[1][i]


def test_launch__table_with_two_indices__is_a_lookup_in_rows() -> None:
    np.testing.assert_array_equal(looked_up(np.array([1.0, 10.0], np.float32), np.array([0, 1], np.int32)), [7.0, 68.0])


@sa.struct
class Lobe:
    tint: float2
    weight: float


@sa.struct
class Layers:
    lobes: Array[Lobe, 2]
    gain: float


@sa.kernel
def swapped(lobes: Each[Array[Lobe, 2]], layers: Each[Layers]) -> tuple[Each[Array[Lobe, 2]], Each[Layers]]:
    turned = sa.copy(lobes)
    turned[0], turned[1] = lobes[1], lobes[0]
    scaled = sa.copy(layers)
    scaled.lobes[1].weight *= layers.gain
    return turned, scaled


def test_launch__arrays_of_structs__are_mappings_of_arrays() -> None:
    tint = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    lobes = {"tint": tint, "weight": weight}
    turned, scaled = swapped(lobes, {"lobes": lobes, "gain": np.array([2.0, 3.0, 4.0], np.float32)})
    np.testing.assert_array_equal(turned["tint"], tint[:, ::-1])
    np.testing.assert_array_equal(turned["weight"], weight[:, ::-1])
    np.testing.assert_array_equal(scaled["lobes"]["tint"], tint)
    np.testing.assert_array_equal(scaled["lobes"]["weight"], weight * [[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]])


@sa.kernel
def weighed(lobes: Param[Array[Layers, 2]], x: Each[float]) -> Each[float]:
    return x * lobes[1].gain * lobes[1].lobes[0].tint.y + lobes[0].lobes[1].weight


def test_launch__param_of_an_array_of_structs__is_a_mapping_of_arrays() -> None:
    tint, weight = np.arange(8, dtype=np.float32).reshape(2, 2, 2), np.arange(4, dtype=np.float32).reshape(2, 2)
    layers = {"lobes": {"tint": tint, "weight": weight}, "gain": np.array([2.0, 3.0], np.float32)}
    np.testing.assert_array_equal(weighed(layers, np.array([1.0, 2.0], np.float32)), [16.0, 31.0])
    with pytest.raises(ValueError, match=r"a field of Array\[Layers, 2\] has shape \(3,\); give it for all 2 items"):
        weighed({**layers, "gain": np.ones(3)}, np.ones(1, np.float32))
