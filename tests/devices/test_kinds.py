"""Sums and means of every type in the Gauss-Newton product, and probes of one name, on every device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import near

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("kinds.py")
COUNT = 16


@pytest.mark.both_drivers
@pytest.mark.parametrize(
    "name",
    [pytest.param("half_mean", marks=pytest.mark.half), pytest.param("half_fit", marks=pytest.mark.half), "double_sum"],
)
def test_jtjvp__sum_or_mean_of_any_type__sends_its_tangent_back(kernels: LoadedFile, name: str) -> None:
    if kernels[name].device == "webgpu" and "double" in name:
        pytest.skip("WebGPU has no double")
    over, tolerance = (1, 1e-12) if name == "double_sum" else (COUNT, 5e-3)
    x = np.linspace(0.25, 1, COUNT * 2).reshape(COUNT, 2).astype("f8" if over == 1 else "f2")
    slope = 2 * x.astype("f8") / over
    found = kernels[name].jtjvp(x, tangent={"x": np.ones_like(x)}).grad["x"]
    assert found.dtype == x.dtype
    near(found, slope * slope.sum(axis=0), tolerance)


@pytest.mark.half
def test_jtjvp__sums_of_several_types__send_back_those_that_have_tangents(kernels: LoadedFile) -> None:
    x, n = np.linspace(0.25, 1, COUNT).astype("f2"), np.arange(COUNT, dtype=np.int32)
    wide = x.astype("f8")
    out = kernels.mixed.jtjvp(x, n, tangent={"x": np.ones_like(x)})
    near(out.grad["x"], 2 * wide * (2 * wide).sum() + n / COUNT * n.mean(), 5e-3)
    assert list(out.grad) == ["x"]
    out = kernels.half_sum.jtjvp(x, np.float16(0.5), tangent={"p": np.float16(1)})
    near(out.grad["p"], (wide**2).sum() ** 2, 5e-3)


@pytest.mark.half
def test_jtjvp__sums_of_halves_over_nothing__are_zero(kernels: LoadedFile) -> None:
    nothing = np.zeros(0, "f2")
    out = kernels.half_sum.jtjvp(nothing, np.float16(0.5), tangent={"p": np.float16(1)})
    assert (float(out.grad["p"]), out.grad["x"].shape) == (0.0, (0,))


def test_probes__of_one_name_and_two_types_in_two_kernels__are_two(kernels: LoadedFile) -> None:
    x = np.linspace(-1, 1, 6).astype("f4").reshape(3, 2)
    near(kernels.scalar_probe.backward(x[:, 0]).probe["p"], np.full(3, 2.0))
    near(kernels.vector_probe.backward(x).probe["p"], np.tile([2.0, 1.0], (3, 1)))
