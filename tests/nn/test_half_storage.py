"""Parameters in half: gradients of a mean over many elements are those of float, and training follows float."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.devices import loaded

import slangad as sa

pytestmark = pytest.mark.toolchain
FILE = Path(__file__).with_name("half_storage.py")
MANY = 1 << 18
"""Elements. A cotangent of their mean is below the normal range of half."""
LIMIT = 2e-3
"""Norm of the error of a gradient by that of the gradient. Results are half, which has 11 bits."""


def normal(*shape: int, size: float = 0.5, seed: int = 0) -> Any:
    return (np.random.default_rng((seed, *shape)).normal(size=shape) * size).astype("f4")


def halfs(*shape: int, size: float = 0.5) -> Any:
    return normal(*shape, size=size, seed=1).astype("f2")


def network(inputs: int, inner: int, outputs: int, bias: float = 0.1) -> dict[str, Any]:
    first = {"w": halfs(inner, inputs), "b": halfs(inner, size=bias)}
    return {"l1": first, "l2": {"w": halfs(outputs, inner, size=0.25), "b": halfs(outputs, size=bias)}}


def in_float(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: in_float(part) for name, part in value.items()}
    return value.astype("f4") if value.dtype == "f2" else value


PLACES = np.random.default_rng(3).random((MANY, 2)).astype("f4")
PARTS = {"a": halfs(1)[0], "v": halfs(3), "m": halfs(2, 3), "f": np.float32(0.3)}
CASES: dict[str, dict[str, Any]] = {
    "mlp": {"x": normal(MANY, 4, size=1.0), "t": normal(MANY, 4, size=1.0, seed=2), "p": network(4, 16, 4, bias=0.0)},
    "small": {"x": normal(MANY, 2, size=1.0), "t": normal(MANY, 1, seed=2), "p": network(2, 4, 1)},
    "hash": {"x": PLACES, "t": normal(MANY, 8), "p": {"table": halfs(4, 512, 2, size=0.1)}},
    "dense": {"x": PLACES, "t": normal(MANY, 2), "p": {"table": halfs(65, 1, size=0.1)}},
    "reads": {
        "x": normal(MANY, size=1.0), "s": PARTS, "p": halfs(1)[0], "v": halfs(3), "w": halfs(2, 3), "q": halfs(2, 3),
    },
    "own": {"x": normal(MANY), "w": halfs(MANY, 2)},
}  # fmt: skip


@pytest.mark.parametrize("case", [*CASES, "hash deterministic"])
def test_gradient__of_halfs__is_that_of_float(case: str) -> None:
    case, _, deterministic = case.partition(" ")
    kernels, arguments = loaded(FILE, "cpu", deterministic=bool(deterministic)), CASES[case]
    got = kernels[f"{case}_half"].backward(**arguments)
    expected = kernels[f"{case}_float"].backward(**in_float(arguments))
    gradients = [key for key in expected if key.startswith("grad.")]
    assert gradients
    for key in gradients:
        error = np.linalg.norm(np.asarray(got[key], "f8") - expected[key]) / np.linalg.norm(expected[key])
        assert error < LIMIT, (key, error)


def test_train__of_halfs_with_a_small_loss__follows_float() -> None:
    """Steps near the optimum: the cotangents of an element are below the smallest half, 6e-8."""
    kernels = loaded(FILE, "cpu")
    x, net = normal(MANY, 2, size=1.0), network(2, 4, 1)
    layers = [in_float(net[name]) for name in ("l1", "l2")]
    t = np.tanh(x @ layers[0]["w"].T + layers[0]["b"]) @ layers[1]["w"].T + layers[1]["b"]
    near = {layer: {k: (v + halfs(*v.shape, size=0.02)).astype("f2") for k, v in net[layer].items()} for layer in net}
    losses = {}
    for kind, start in {"half": near, "float": in_float(near)}.items():
        found = kernels[f"small_{kind}"].train(x=x, t=t, p=start, optimizer=sa.SGD(lr=0.5), steps=20)
        losses[kind] = np.asarray(found.losses)
    assert losses["float"][0] < 2e-3
    assert losses["float"][-1] < 0.1 * losses["float"][0]
    np.testing.assert_allclose(losses["half"], losses["float"], rtol=0.02, atol=1e-6)  # weights are rounded to 11 bits
    assert np.all(np.diff(losses["half"]) < 0)
