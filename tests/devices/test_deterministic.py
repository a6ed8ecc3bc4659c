"""``--deterministic`` on every device: ten runs have the same bits, those of float64, in every access pattern."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import largest, loaded, near
from support.nearest import nearest_sum

from slangad.compiler.emit.model import EXACT_WORDS
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.pipeline import run_kernel as execute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.api.load import LoadedFile, Outcome

    Arrays = Mapping[str, Any]

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("scattering.py")
DETERMINISTIC = True
COUNTS = (1, 63, 257, 70_001, 1 << 18)
MANY = 1 << 24
RUNS = 10
MOST = 960 << 10
"""Sums: each has 136 bytes, and a buffer of Mesa 128 MiB."""
TILES = ((1, 1), (7, 9), (65, 4), (263, 267), (960, MOST // 960))


def repeated(kernels: LoadedFile, name: str, *given: object, runs: int = RUNS, **more: object) -> Outcome:
    """What a kernel's backward mode gives, every time."""
    first = kernels[name].backward(*given, **more)  # type: ignore[arg-type]  # arrays of any kind
    for _ in range(runs - 1):
        again = kernels[name].backward(*given, **more)  # type: ignore[arg-type]
        for key, array in first.items():
            assert array.tobytes() == again[key].tobytes(), key
    return first


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(np.float32)


def places(seed: int, count: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, size, count).astype(np.int32)


@pytest.mark.parametrize("size", [1, 7, 3000])
@pytest.mark.parametrize("count", COUNTS)
def test_colliding__any_number_of_threads__have_the_same_bits(kernels: LoadedFile, count: int, size: int) -> None:
    at, g, w = places(count, count, size), drawn(1, count), drawn(2, size, 3)
    out = repeated(kernels, "vectors", at, g, w)
    total = np.bincount(at, g.astype(np.float64), size)[:, None]
    near(out.grad["w"], total * np.stack([np.ones(size), 2.0 * w[:, 2], 2.0 * w[:, 1]], 1))


@pytest.mark.parametrize("size", [1, MOST])
def test_colliding__sixteen_million_threads__have_the_same_bits(kernels: LoadedFile, size: int) -> None:
    at, g = places(3, MANY, 64) * np.int32(size // 64), drawn(4, MANY)
    out = repeated(kernels, "gather", at, g, drawn(5, size), runs=3)
    near(out.grad["w"], np.bincount(at, g.astype(np.float64), size))


def test_colliding__over_nothing__is_zero(kernels: LoadedFile) -> None:
    out = repeated(kernels, "gather", np.zeros(0, np.int32), np.zeros(0, np.float32), drawn(1, 4), runs=2)
    assert out.grad["w"].tobytes() == bytes(16)


@pytest.mark.parametrize("count", COUNTS)
def test_shared__one_place_for_all__has_the_same_bits(kernels: LoadedFile, count: int) -> None:
    x, w, m = drawn(6, count), drawn(7, 5), drawn(8, 4, 4)
    out = repeated(kernels, "shared", x, w, m)
    mean = x.astype(np.float64).mean()
    near(out.grad["w"], mean * np.array([*(2.0 * w[:3] * m[:3, 3]), 0.0, 0.0]))
    near(out.grad["m"][:, 3], mean * np.array([*(w[:3] ** 2), 0.0]))


@pytest.mark.parametrize("tile", TILES)
def test_neighbours__over_two_axes__have_the_same_bits(kernels: LoadedFile, tile: tuple[int, int]) -> None:
    w, seed = drawn(9, *tile), drawn(10, *tile)
    out = repeated(kernels, "neighbours", w, cotangent=seed, domain=tile)
    below = np.minimum(np.arange(tile[0]) + 1, tile[0] - 1)
    before = np.maximum(np.arange(tile[1]) - 1, 0)
    expected = seed * w[below].astype(np.float64)
    np.add.at(expected, below, seed * w)
    np.add.at(expected, (slice(None), before), seed)
    near(out.grad["w"], expected)


@pytest.mark.parametrize("count", COUNTS)
def test_written__own_elements_and_in_place__have_the_same_bits(kernels: LoadedFile, count: int) -> None:
    v, seed, at, w = drawn(11, count), drawn(12, count), places(13, count, 7), drawn(14, 7)
    out = repeated(kernels, "in_place", v, at, w, cotangent={"v": seed})
    near(out.grad["v"], 2.0 * v * seed * w[at])
    near(out.grad["w"], np.bincount(at, (v * v * seed).astype(np.float64), 7))
    out = repeated(kernels, "own", v, domain=count, cotangent={"out": seed})
    near(out.grad["w"], 2.0 * v * seed)


@pytest.mark.half
@pytest.mark.parametrize("count", COUNTS[:-1])
def test_elements__of_any_type__have_the_same_bits(kernels: LoadedFile, count: int) -> None:
    at, g = places(15, count, 9), drawn(16, count)
    h, m, a = drawn(17, 9).astype(np.float16), drawn(18, 9, 2, 2), drawn(19, 9, 3)
    out = repeated(kernels, "elements", at, h, m, a, g)
    total = np.bincount(at, g.astype(np.float64), 9)
    corners = np.stack([m[:, 1, 1], -m[:, 1, 0], -m[:, 0, 1], m[:, 0, 0]], 1).reshape(9, 2, 2)
    near(out.grad["m"], total[:, None, None] * corners)
    near(out.grad["a"], total[:, None] * np.stack([a[:, 2], np.zeros(9), a[:, 0]], 1))
    halves = np.bincount(at, g.astype(np.float16).astype(np.float64), 9)
    np.testing.assert_allclose(out.grad["h"], halves, rtol=1e-3)


@pytest.mark.parametrize("count", COUNTS)
def test_textures__sampled__have_the_same_bits_and_those_of_the_plain_sums(kernels: LoadedFile, count: int) -> None:
    uv = np.random.default_rng(20).uniform(-1.0, 2.0, (count, 2)).astype(np.float32)
    t, u = drawn(21, 5, 4, 3), drawn(22, 3, 6)
    out = repeated(kernels, "sample", uv, t, u)
    plain = loaded(DESCRIBED, kernels.sample.device).sample.backward(uv, t, u)
    for key in ("t", "u"):
        near(out.grad[key], plain.grad[key])
    near(out.grad["uv"], plain.grad["uv"], size=largest(plain.grad["uv"]))


def test_probes__beside_exact_sums__have_the_same_bits(kernels: LoadedFile) -> None:
    at, w = places(23, 5000, 11), drawn(24, 11)
    out = repeated(kernels, "probed", at, w)
    near(out.probe["y"], 2.0 * w[at] ** 2)
    near(out.grad["w"], np.bincount(at, 4.0 * w[at].astype(np.float64) ** 3, 11))


def test_gauss_newton__product__has_the_same_bits(kernels: LoadedFile) -> None:
    at, g, w = places(25, 70_001, 5), drawn(26, 70_001), drawn(27, 5)
    found = [kernels.gather.jtjvp(at, g, w, tangent={"w": w}).grad["w"] for _ in range(RUNS)]
    assert len({array.tobytes() for array in found}) == 1
    near(found[0], np.bincount(at, g.astype(np.float64) ** 2, 5) * w)


def test_gradients__given_before__are_added_to(kernels: LoadedFile) -> None:
    at, g, w = places(28, 999, 4), drawn(29, 999), drawn(30, 4)
    plain = repeated(kernels, "gather", at, g, w, runs=1)
    more = repeated(kernels, "gather", at, g, w, grad={"w": np.arange(4.0)})
    assert np.array_equal(more.grad["w"], plain.grad["w"] + np.arange(4, dtype=np.float32))


def test_totals__that_no_buffer_holds__are_refused(kernels: LoadedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernels.gather.device == "cpu":
        pytest.skip("the CPU has a double for each scalar")
    monkeypatch.setattr(execute, "_MOST_WORDS", EXACT_WORDS * 100)
    one, many = np.zeros(1, np.int32), np.ones(100, np.float32)
    assert repeated(kernels, "gather", one, many[:1], many[1:]).grad["w"][0] == 1.0
    with pytest.raises(ToolchainError, match="the gradient of w is too large for exact sums"):
        kernels.gather.backward(one, many[:1], many)


# --- the sums themselves ---


def added(kernels: LoadedFile, values: object) -> np.float32:
    """The gradient of one element to which every number is added by a thread of its own."""
    g = np.asarray(values, np.float32)
    found: np.float32 = kernels.gather.backward(np.zeros(len(g), np.int32), g, np.ones(1, np.float32)).grad["w"][0]
    return found


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([np.inf, 1.0], np.inf),
        ([-1.0, -np.inf, -np.inf], -np.inf),
        ([np.inf, 1.0, -np.inf], np.nan),
        ([np.inf, np.nan, 2.0], np.nan),
        ([3e38, 3e38], np.inf),
        ([-3e38] * 5000, -np.inf),
        ([3e38, 3e38, -3e38], 3e38),
        ([0.0, -0.0], 0.0),
        ([2.0**24, 1.0], 2.0**24),
        ([2.0**24, 3.0], 2.0**24 + 4.0),
        ([1.0, -1.0] * 3000, 0.0),
    ],
)
def test_sum__of_numbers_at_the_edge__is_right(kernels: LoadedFile, values: list[float], total: float) -> None:
    np.testing.assert_array_equal(added(kernels, values), np.float32(total))


def test_sum__of_a_cancellation_beyond_double__is_right(kernels: LoadedFile) -> None:
    if kernels.gather.device == "cpu":
        pytest.skip("the CPU adds up in double")
    values = [1e30, 1.0, -1e30, 2.0**-100, 3e38, -3e38]
    assert added(kernels, values) == np.float32(1.0)
    assert added(kernels, [*values, -1.0]) == np.float32(2.0**-100)


@pytest.mark.parametrize("seed", range(12))
def test_sum__of_numbers_of_every_size__is_the_nearest_float(kernels: LoadedFile, seed: int) -> None:
    if kernels.gather.device == "cpu":
        pytest.skip("the CPU adds up in double")
    stream = np.random.default_rng(seed)
    count, spread = int(stream.integers(1, 3000)), float(stream.uniform(0.0, 90.0))
    values = (stream.normal(size=count) * 2.0 ** stream.uniform(-spread, spread, count)).astype(np.float32)
    assert added(kernels, values) == nearest_sum(values)


def test_sum__of_numbers_in_another_order__has_the_same_bits(kernels: LoadedFile) -> None:
    if kernels.gather.device == "cpu":
        pytest.skip("the CPU adds up in double")
    stream = np.random.default_rng(31)
    values = (stream.normal(size=100_003) * 2.0 ** stream.uniform(-30, 30, 100_003)).astype(np.float32)
    found = {added(kernels, stream.permutation(values)).tobytes() for _ in range(5)}
    assert found == {added(kernels, values).tobytes()}
