"""Locals of the user's have any name, also one that slangad gives to what it makes: the gradients are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("y", "out", "d_out", "d_x", "end", "state", "entries", "gradients", "place", "row", "sums", "current")
"""The first one is no name of slangad's."""
HEAD = """
import slangad as sa
from slangad import Array, Each, Param
"""
KERNELS = {
    "products": """
@sa.kernel
def {name}(x: Each[Array[float, 16]], w: Param[Array[Array[float, 16], 16]]) -> Each[Array[float, 16]]:
    {local} = sa.copy(x)
    for i in range(16):
        for j in range(16):
            {local}[i] += w[i][j] * x[j]
    for i in range(16):
        {local}[i] = {local}[i] * sa.sin({local}[i])
    return {local}
""",
    "rows": """
@sa.kernel
def {name}(x: Each[Array[float, 80]], w: Param[Array[float, 80]]) -> Each[float]:
    {local} = Array[float, 80]()
    for i in range(80):
        {local}[i] = w[i] * sa.sin(x[i])
    z = Array[float, 80]()
    for i in range(80):
        for j in range(80):
            z[i] += {local}[j] * x[i] * {local}[i]
    whole = 0.0
    for i in range(80):
        whole += z[i]
    return whole
""",
    "loops": """
@sa.kernel
def {name}(x: Each[Array[float, 6]], w: Param[Array[float, 6]]) -> Each[float]:
    {local} = Array[float, 6]()
    light = 1.0
    for k in sa.range(40):
        for i in range(6):
            {local}[i] += light * w[i] * x[i]
        light *= 0.9 + 0.05 * x[0]
        if light < 0.05:
            break
    whole = 0.0
    for i in range(6):
        whole += {local}[i] * {local}[i]
    return whole
""",
}


@pytest.mark.toolchain
@pytest.mark.parametrize("kind", KERNELS)
def test_local__of_any_name__leaves_the_gradients_as_they_are(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "named.py"
    texts = (KERNELS[kind].format(name=f"of_{name}", local=name) for name in NAMES)
    file.write_text(HEAD + "\n".join(texts), encoding="utf-8")
    kernels = sa.load(file)
    rng = np.random.default_rng(5)
    size = {"products": 16, "rows": 80, "loops": 6}[kind]
    x = rng.uniform(0.2, 0.9, (9, size)).astype(np.float32)
    w = rng.uniform(-0.5, 0.5, (size, size) if kind == "products" else size).astype(np.float32)
    cotangent = np.ones((9, size) if kind == "products" else 9, np.float32)
    found = [kernels[f"of_{name}"].backward(x=x, w=w, cotangent=cotangent, device="cpu") for name in NAMES]
    assert np.linalg.norm(found[0]["grad.x"]) > 0.1
    for name, one in zip(NAMES, found, strict=True):
        for key in ("grad.x", "grad.w"):
            np.testing.assert_allclose(one[key], found[0][key], rtol=1e-4, atol=1e-4, err_msg=f"{name}: {key}")
