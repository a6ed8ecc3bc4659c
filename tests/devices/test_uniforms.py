"""Uniforms of every layout arrive on every device as they were given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain
DESCRIBED = Path(__file__).with_name("uniforms.py")


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).uniform(0.5, 1.5, shape).astype("f4")


@pytest.mark.half
def test_uniforms__structs_arrays_matrices_and_halves__arrive(kernels: LoadedFile) -> None:
    x, m, a, i, c = drawn(70), drawn(3, 3), drawn(3), [3, 4], np.float16(0.25)
    u = {"k": np.float16(0.5), "v": {"a": drawn(2, 3), "b": drawn(2, 2, 2)}, "m": drawn(2, 3), "n": 3}
    u["h"] = drawn(3).astype("f2")
    s = {"on": True, "m": drawn(2, 3)}
    r = x * 0.5 + 2.0 * u["v"]["a"][1, 1] + 3.0 * u["v"]["b"][0, 1, 0] + 5.0 * u["m"][1, 2] + 7.0 * float(u["h"][2]) + 3
    q = m[1, 2] + 2.0 * a[2] + 5.0 * 0.25 + 7.0 * 4 + s["m"][1, 0]
    weigh = kernels.weigh
    np.testing.assert_allclose(weigh(x, u, m, a, i, c, s), r * q, rtol=1e-5)
    np.testing.assert_allclose(weigh.backward(x, u, m, a, i, c, s).grad["x"], np.full(70, 0.5 * q), rtol=1e-5)
    np.testing.assert_array_equal(weigh(x, u, m, a, i, c, {**s, "on": False}), x)


@pytest.mark.half
def test_uniforms__matrices_and_arrays_of_halfs__arrive(kernels: LoadedFile) -> None:
    x, g, w = drawn(5), drawn(2, 2).astype("f2"), drawn(2, 3).astype("f2")
    r = {"g": drawn(2, 2, 2), "w": drawn(2, 2, 3), "k": drawn(2), "s": 2.0 * drawn(2, 3)}
    r = {key: array.astype("f2") for key, array in r.items()}
    a = float(g[1, 0]) + 2.0 * float(w[1, 1]) + 3.0 * float(r["g"][1, 0, 1]) + 5.0 * float(r["w"][0, 1, 2])
    expected = x * (a + 7.0 * float(r["k"][1]) + float(r["s"][1, 2]))
    np.testing.assert_allclose(kernels.rows(x, g, w, r), expected, rtol=1e-5)


def test_uniforms__arrays_of_matrices__arrive(kernels: LoadedFile) -> None:
    x, t = drawn(5), drawn(2, 2, 3)
    np.testing.assert_allclose(kernels.stacked(x, t), x * t[1, 0, 2], rtol=1e-6)
