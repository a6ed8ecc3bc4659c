"""Outputs that threads add to, on every device: values, gradients and tangents are those of float64."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import DEVICES, largest, loaded, near

if TYPE_CHECKING:
    import numpy.typing as npt

    from slangad.compiler.api.load import LoadedFile

    Array = npt.NDArray[Any]

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("additions.py")
BINS = 257


class Soft:
    """Random values with weights, and their histogram, gradients and tangents in float64."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(count)
        self.x = rng.random(count, np.float32)
        self.w, self.dx, self.dw = (rng.uniform(0.5, 1.5, count).astype(np.float32) for _ in range(3))
        self.start = rng.uniform(-1.0, 1.0, BINS).astype(np.float32)
        self.cotangent = rng.uniform(-1.0, 1.0, BINS).astype(np.float32)
        at = self.x * np.float32(255.0)
        self.k = np.floor(at).astype(np.int64)
        self.part = (at - self.k).astype(np.float64)

    @property
    def bins(self) -> Array:
        return self.summed(self.w * (1.0 - self.part), self.w * self.part)

    @property
    def tangent(self) -> Array:
        moved = 255.0 * self.w * self.dx.astype(np.float64)
        return self.summed(self.dw * (1.0 - self.part) - moved, self.dw * self.part + moved)

    @property
    def gradients(self) -> tuple[Array, Array]:
        first, second = (self.cotangent[self.k + n].astype(np.float64) for n in (0, 1))
        return 255.0 * self.w * (second - first), first * (1.0 - self.part) + second * self.part

    @property
    def slopes(self) -> Array:
        """The sums of what the bins' tangents are without their signs."""
        moved = 255.0 * self.w * self.dx.astype(np.float64)
        return self.summed(self.dw + moved, self.dw + moved)

    def summed(self, first: Array, second: Array) -> Array:
        bins = np.zeros(BINS)
        np.add.at(bins, self.k, first)
        np.add.at(bins, self.k + 1, second)
        return bins


@pytest.mark.parametrize("count", [0, 1, 77, 1_000_000])
def test_histogram__of_shared_bins__is_that_of_float64(kernels: LoadedFile, count: int) -> None:
    soft = Soft(count)
    out = kernels.soft.forward(soft.x, soft.w, soft.start)
    size = np.abs(soft.start) + soft.bins
    near(out["bins"], soft.start + soft.bins, size=size)
    moved = kernels.soft.jvp(soft.x, soft.w, soft.start, tangent={"x": soft.dx, "w": soft.dw})
    near(moved["bins"], soft.start + soft.bins, size=size)
    near(moved["jvp.bins"], soft.tangent, size=soft.slopes)
    back = kernels.soft.backward(soft.x, soft.w, soft.start, cotangent={"bins": soft.cotangent})
    for gradient, wanted in zip((back.grad["x"], back.grad["w"]), soft.gradients, strict=True):
        near(gradient, wanted, size=largest(wanted) if count else None)


def test_counts__of_integers__lose_nothing_and_wrap_around(kernels: LoadedFile) -> None:
    x = np.random.default_rng(5).random(1_000_000, np.float32)
    wanted = np.bincount((x * 256.0).astype(np.int64), minlength=256)
    out = kernels.count.forward(x, np.full(256, -7, np.int32), np.full(256, 9, np.uint32))
    assert np.array_equal(out["counts"], wanted - 7)
    assert np.array_equal(out["left"], (9 - wanted).astype(np.uint32))


def test_splat__of_many_points__is_that_of_float64(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(6)
    at, color = rng.random((100_000, 2), np.float32), rng.random((100_000, 3), np.float32)
    at[:50_000] = at[0]
    image, cotangent = np.zeros((512, 512, 3), np.float32), rng.random((512, 512, 3), np.float32)
    places = tuple((at * 512.0).astype(np.int64).T[::-1])
    wanted = np.zeros(image.shape)
    np.add.at(wanted, places, color.astype(np.float64) ** 2)
    near(kernels.splat.forward(at, color, image)["image"], wanted)
    back = kernels.splat.backward(at, color, image, cotangent={"image": cotangent})
    near(back.grad["color"], 2.0 * color * cotangent[places])


def test_additions__of_one_thread_and_of_all_and_beside_a_result__have_gradients(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(7)
    x, own, total, seen = rng.random((70, 31), np.float32), np.ones((70, 31), np.float32), np.ones(1, np.float32), 4
    args = (x, 2.0, own, total, np.zeros(seen, np.float32))
    out = kernels.several.forward(*args)
    exact = x.astype(np.float64)
    near(out["own"], 1.0 + 6.0 * exact)
    near(out["total"], [1.0 - 2.0 * (exact**2).sum()])
    large = exact[x > 0.5]
    near(out["seen"], np.bincount((large * 4.0).astype(np.int64), large, seen))
    near(out["result"], 2.0 * exact.sum())
    towards = rng.random((70, 31), np.float32)
    back = kernels.several.backward(*args, cotangent={"result": 0.5, "own": towards, "total": [3.0]})
    near(back.grad["x"], 6.0 * towards - 12.0 * exact + 1.0, size=6.0 * towards + 12.0 * exact + 1.0)
    near(back.grad["a"], (3.0 * towards * exact).sum() - 3.0 * (exact**2).sum() + 0.5 * exact.sum())
    moved = kernels.several.jvp(*args, tangent={"a": 1.0})
    near(moved["jvp.own"], 3.0 * exact)
    near(moved["jvp.total"], [-(exact**2).sum()])


def test_jvp__of_equal_numbers__does_not_round_in_one_direction(kernels: LoadedFile) -> None:
    count, places = 1 << 18, 100
    rng = np.random.default_rng(4)
    place = rng.integers(0, places, count)
    at = (np.stack([place % 10, place // 10], -1) / 32 + 1 / 64).astype(np.float32)
    color = np.full((count, 3), 0.3, np.float32)
    image = np.zeros((1024, 1024, 3), np.float32)
    moved = kernels.splat.jvp(at, color, image, tangent={"color": color})
    exact = np.bincount(place, minlength=places) * (np.float32(0.3) * np.float32(0.3)).astype(np.float64)
    for key, times in (("image", 1.0), ("jvp.image", 2.0)):
        found = moved[key][8::16, 8::16][:10, :10].reshape(places, 3)
        near(found, times * np.repeat(exact, 3).reshape(places, 3))


def test_stores_without_gradient__stay_out_of_reverse_mode(kernels: LoadedFile) -> None:
    """Reverse mode has no room for what they store, and would read the second value of what is changed in place."""
    x, turns = np.random.default_rng(9).random(2_000_000, np.float32), np.full(2_000_000, 3, np.int32)
    whole = np.zeros(x.shape, np.int32)
    args = (x, whole, np.zeros_like(x), turns, whole)
    exact = x.astype(np.float64)
    near(kernels.marked.backward(*args).grad["x"], 6.0 * exact)
    for out in (kernels.marked.forward(*args), kernels.marked.jvp(*args, tangent={"x": np.ones_like(x)})):
        near(out["result"], 3.0 * exact**2)
        near(out["doubled"], 2.0 * exact)
        assert np.array_equal(out["marks"], np.arange(len(x)))
        assert np.array_equal(out["turns"], turns + 1)
        assert np.array_equal(out["calls"], whole + 1)


def test_pipeline__that_adds_to_its_tensor__has_gradients(kernels: LoadedFile) -> None:
    soft = Soft(5000)
    wanted = np.full(BINS, 20.0, np.float32)
    bins = np.zeros(BINS, np.float32)
    back = kernels.match.backward(soft.x, soft.w, bins, wanted, cotangent={"result": 1.0, "bins": bins})
    soft.cotangent = (2.0 * (soft.bins - wanted) / BINS).astype(np.float32)
    for gradient, expected in zip((back.grad["x"], back.grad["w"]), soft.gradients, strict=True):
        near(gradient, expected, size=largest(expected))


def test_output__that_threads_add_to_and_nobody_gives__is_missing(kernels: LoadedFile) -> None:
    x, wanted = np.ones(3, np.float32), np.zeros(BINS, np.float32)
    for call in (lambda: kernels.soft(x, x), lambda: kernels.match(x, x, wanted=wanted)):
        with pytest.raises(ValueError, match=r"bins is missing: float32, shape \(n,\).*not follow from the domain"):
            call()


@pytest.mark.parametrize("device", [name for name in DEVICES if name != "webgpu"])
def test_deterministic__in_any_order__has_the_same_bits(cxx: object, device: str) -> None:
    histogram, soft = loaded(DESCRIBED, device, deterministic=True).soft, Soft(20_000)
    order = np.random.default_rng(8).permutation(20_000)
    runs = []
    for at in (slice(None), order):
        x, w, dx = soft.x[at], soft.w[at], soft.dx[at]
        bins = histogram.forward(x, w, np.zeros(BINS, np.float32))["bins"]
        runs.append((bins.tobytes(), histogram.jvp(x, w, np.zeros(BINS, np.float32), tangent={"x": dx})["jvp.bins"]))
        near(bins, soft.bins)
    assert runs[0][0] == runs[1][0]
    assert device == "cpu" or runs[0][1].tobytes() == runs[1][1].tobytes()


def test_addition__in_python__is_that_of_the_cpu(cxx: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DESCRIBED.parent)
    import additions

    from slangad.compiler.lang.execution.gradients import backward, jvp

    soft, histogram = Soft(200), loaded(DESCRIBED, "cpu").soft
    bins = np.zeros(BINS, np.float32)
    additions.soft(soft.x, soft.w, bins)
    assert np.array_equal(bins, histogram.forward(soft.x, soft.w, np.zeros(BINS, np.float32))["bins"])
    args = {"x": soft.x, "w": soft.w, "bins": np.zeros(BINS, np.float32)}
    gradients = backward(additions.soft, args, {"bins": soft.cotangent}).derivatives
    for name, wanted in zip(("x", "w"), soft.gradients, strict=True):
        near(gradients[name], wanted, size=largest(wanted))
    moved = jvp(additions.soft, args, {"x": soft.dx, "w": soft.dw}).derivatives["bins"]
    near(moved, soft.tangent, size=soft.slopes)
    counts, left = np.zeros(256, np.int32), np.zeros(256, np.uint32)
    additions.count(soft.x, counts, left)
    assert np.array_equal(counts, np.bincount((soft.x * 256.0).astype(np.int64), minlength=256))
    assert np.array_equal(left, (-counts).astype(np.uint32))
