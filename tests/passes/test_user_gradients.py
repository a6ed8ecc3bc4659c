"""``bwd_diff`` inside differentiated functions: the slope of a network in a loss."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.emit import emit_module
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, float3

Net = Annotated[Any, sa.nn.MLP([3, 4, 1], activation="softplus")]


@sa.differentiable
def distance(net: Net, p: float3, gain: float) -> float:
    found: float = net(Array[float, 3](p.x, p.y, p.z))[0]
    return gain * found


@sa.kernel
def unpacked(net: Param[Net], p: NoDiff[Each[float3]]) -> Mean[float]:
    by_net, slope, _ = sa.bwd_diff(distance)(net, p, 2.0, 1.0)
    return (sa.length(slope) - 1.0) ** 2


@sa.kernel
def picked(net: Param[Net], p: NoDiff[Each[float3]]) -> Mean[float]:
    return (sa.length(sa.bwd_diff(distance)(net, p, 2.0, 1.0)[1]) - 1.0) ** 2


@sa.kernel
def in_two_ways(net: Param[Net], p: NoDiff[Each[float3]]) -> Mean[float]:
    first = sa.bwd_diff(distance)(net, p, 2.0, 1.0)
    _, _, value = sa.bwd_diff(distance)(net, p, 2.0, 1.0)
    return (sa.length(first[1]) - 1.0) ** 2 + 0.0 * value * first[2]


@sa.kernel
def of_weights(net: Param[Net], p: NoDiff[Each[float3]]) -> Mean[float]:
    by_net, slope, _ = sa.bwd_diff(distance)(net, p, 2.0, 1.0)
    return by_net.l1.b[0] * by_net.l1.b[0] + 0.0 * slope.x
"""
SIZES = (3, 4, 1)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "slopes.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_user_gradients__that_nobody_reads__are_not_computed(program: Path) -> None:
    text = emit_module(run_passes(load(program))).text
    bodies = {
        name: part for part in text.split("\n\n") for name in re.findall(r"^float (\w+)\(MLP", part, re.MULTILINE)
    }
    assert "distance_gradient_p(net, p, 2.0, 1.0)" in bodies["unpacked"]
    assert "distance_gradient_p(net, p, 2.0, 1.0)" in bodies["picked"]
    assert "distance_gradient_p_gain(net, p, 2.0, 1.0)" in bodies["in_two_ways"]
    assert "distance_gradient_gain(net, p, 2.0, 1.0)" in bodies["in_two_ways"]
    assert "distance_gradient_net_p(net, p, 2.0, 1.0)" in bodies["of_weights"]


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["unpacked", "picked", "in_two_ways", "of_weights"])
def test_user_gradients__of_a_network__have_the_second_derivatives(program: Path, name: str) -> None:
    random = np.random.default_rng(0)
    net = {
        f"l{k + 1}": {"w": random.normal(0, 1, (b, a)).astype("f4"), "b": random.normal(0, 1, b).astype("f4")}
        for k, (a, b) in enumerate(itertools.pairwise(SIZES))
    }
    p = random.uniform(-1, 1, (5, 3)).astype("f4")
    out = sa.load(str(program), device="cpu")[name].backward(net, p)
    loss = _by_weights if name == "of_weights" else _by_slope
    assert out.result == pytest.approx(loss(net, p), rel=1e-5)
    for layer, field in (("l1", "w"), ("l1", "b"), ("l2", "w")):
        wanted = _differences(loss, net, p, layer, field)
        np.testing.assert_allclose(out.grad.net[layer][field], wanted, atol=1e-5 * np.abs(wanted).max())


def _inner(net: dict[str, dict[str, np.ndarray]], p: np.ndarray) -> np.ndarray:
    """Return the cotangents of the hidden units before their activation, times the gain."""
    hidden = p.astype(float) @ net["l1"]["w"].T + net["l1"]["b"]
    return 2.0 * net["l2"]["w"][0] / (1.0 + np.exp(-hidden))


def _by_slope(net: dict[str, dict[str, np.ndarray]], p: np.ndarray) -> float:
    slope = _inner(net, p) @ net["l1"]["w"]
    return float(np.mean((np.linalg.norm(slope, axis=1) - 1.0) ** 2))


def _by_weights(net: dict[str, dict[str, np.ndarray]], p: np.ndarray) -> float:
    return float(np.mean(_inner(net, p)[:, 0] ** 2))


def _differences(
    loss: object, net: dict[str, dict[str, np.ndarray]], p: np.ndarray, layer: str, field: str
) -> np.ndarray:
    """Return the central differences of a loss by the entries of a field, in float64."""
    assert callable(loss)
    moved = {key: {name: value.astype(float) for name, value in part.items()} for key, part in net.items()}
    at = moved[layer][field]
    result = np.zeros_like(at)
    for entry in np.ndindex(at.shape):
        kept, values = at[entry], []
        for step in (1e-5, -1e-5):
            at[entry] = kept + step
            values.append(loss(moved, p))
        at[entry] = kept
        result[entry] = (values[0] - values[1]) / 2e-5
    return result
