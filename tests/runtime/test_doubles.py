"""Scattered gradients of double tensors: double on the CPU, float on GPUs and where sums are exact, which is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.pipeline.narrowing import narrowed_gradients

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain
DESCRIBED = """
import slangad as sa
from slangad import Array, Each, Sum, Tensor, double, double2x2, double3

@sa.kernel
def pick(
    i: Each[int], x: Each[double], a: Tensor[double, 1], b: Tensor[double3, 2], c: Tensor[double2x2, 1],
    d: Tensor[Array[double, 3], 1], e: Tensor[float, 1],
) -> Sum[double]:
    return x * (a[i] + b[i, 0].y + c[i][1][0] + d[i][2] + double(e[i]))
"""
INDEX = np.int32([0, 1, 2, 2])
FACTORS = np.array([1e200, 1e-200, 1 / 3, 1e-10])
SUMS = [1e200, 1e-200, 1 / 3 + 1e-10]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, cxx: object) -> Path:
    path = tmp_path_factory.mktemp("doubles") / "pick.py"
    path.write_text(DESCRIBED, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def kernels(described: Path) -> LoadedFile:
    return sa.load(described, device="cpu")


def test_scatter__doubles_on_the_cpu__keep_their_digits_and_range(kernels: LoadedFile) -> None:
    shapes = {"a": (3,), "b": (3, 2, 3), "c": (3, 2, 2), "d": (3, 3)}
    tensors = {name: np.zeros(shape) for name, shape in shapes.items()}
    grad = kernels.pick.backward(INDEX, FACTORS, **tensors, e=np.zeros(3, np.float32)).grad
    for found in (grad["a"], grad["b"][:, 0, 1], grad["c"][:, 1, 0], grad["d"][:, 2]):
        np.testing.assert_allclose(found, SUMS, rtol=1e-15)
    np.testing.assert_allclose(grad["e"], [np.inf, 0, 1 / 3], rtol=1e-7)
    assert not grad["b"][:, 0, 0].any()
    assert not grad["d"][:, :2].any()


def test_scatter__doubles_elsewhere__are_told_to_be_floats(kernels: LoadedFile, described: Path) -> None:
    plan = kernels.pick.plan
    assert not narrowed_gradients([plan], RunMode.BACKWARD, "cpu")
    assert not narrowed_gradients([plan], RunMode.FORWARD, "vulkan")
    (note,) = narrowed_gradients([plan], RunMode.BACKWARD, "vulkan")
    assert str(note.severity.value) == "note"
    assert note.message == "grad.a, grad.b, grad.c, grad.d: added up on vulkan in float, not double"
    exact = sa.load(described, device="cpu", deterministic=True).pick.plan
    assert narrowed_gradients([exact], RunMode.JTJVP, "cpu")
