"""Long sums of rows and products of arrays run as written: with memory of groups, halfs and second derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

TEXT = """
import slangad as sa
from slangad import Array, Each, Mean, Param

@sa.kernel(group_size=(16,))
def turns(a: Each[Array[float, 16]]) -> Each[float]:
    s = sa.Shared[float, 16]()
    k = sa.thread_id() % 16
    total = 0.0
    for t in range(70):
        s[k] = float(t)
        sa.barrier()
        for j in range(16):
            total += s[j] * a[j]
        sa.barrier()
    return total

@sa.kernel
def halfs(h: Each[sa.half], x: Each[Array[float, 80]]) -> Each[float]:
    total = 0.0
    for i in range(70):
        for j in range(80):
            total += float(h) * x[j]
    return total

@sa.differentiable
def scaled(h: sa.half3, x: Array[float, 100]) -> float:
    y = Array[float, 100]()
    for i in range(100):
        y[i] = float(h.x) * x[i]
    total = 0.0
    for i in range(100):
        total += y[i]
    return total

@sa.kernel
def entries(h: Param[sa.half3], x: Each[Array[float, 100]]) -> Each[float]:
    return scaled(h, x)

@sa.kernel
def product(w: Param[Array[Array[float, 3], 2]], x: Each[Array[float, 3]]) -> Mean[float]:
    y = w @ x
    return y[0] * y[1]

@sa.kernel
def loops(w: Param[Array[Array[float, 3], 2]], x: Each[Array[float, 3]]) -> Mean[float]:
    y = Array[float, 2]()
    for i in range(2):
        total = 0.0
        for j in range(3):
            total += w[i][j] * x[j]
        y[i] = total
    return y[0] * y[1]
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> LoadedFile:
    path: Path = tmp_path_factory.mktemp("sums") / "sums.py"
    path.write_text(TEXT, encoding="utf-8")
    return sa.load(path, "cpu")


def test_sum__over_memory_that_turns_store_into__is_that_of_each_turn(kernels: LoadedFile) -> None:
    a = np.ones((32, 16), np.float32)
    turns = sum(range(70))
    assert (np.asarray(kernels["turns"](a=a)) == 16 * turns).all()
    assert (kernels["turns"].backward(a=a).grad["a"] == turns).all()


def test_gradient__of_a_half__is_added_up_in_float(kernels: LoadedFile) -> None:
    x = np.ones((1, 80), np.float32)
    assert kernels["halfs"].backward(h=np.ones(1, np.float16), x=x).grad["h"] == [5600.0]
    x = np.ones((1, 100), np.float32)
    x[0, 0] = 4096.0
    grad = kernels["entries"].backward(h=np.ones(3, np.float16), x=x).grad["h"]
    assert [*grad] == [np.float16(4195.0), 0.0, 0.0]


def test_hvp__of_a_product_of_arrays__is_that_of_its_loops(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(0)
    w, x = rng.uniform(-1, 1, (2, 3)).astype(np.float32), rng.uniform(-1, 1, (4, 3)).astype(np.float32)
    tangent = {"w": np.ones_like(w), "x": np.ones_like(x)}
    product, loops = (kernels[name].hvp(w=w, x=x, tangent=tangent).arrays for name in ("product", "loops"))
    assert product.keys() == loops.keys()
    for key, value in product.items():
        np.testing.assert_allclose(value, loops[key], rtol=1e-5, atol=1e-6)
