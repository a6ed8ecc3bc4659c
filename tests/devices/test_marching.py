"""Elements leave loops with networks: gradients are those of float64, and groups still multiply together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import DEVICES, loaded
from support.tile_lists import Arrays, along, floats

from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).with_name("marching.py")
STEPS = 12
LISTED = 7
"""Entries of a list, fewer than steps."""
SIZES = {"net": (3, 16, 16, 1), "color": (3, 16, 16, 2)}


def test_marching__networks_in_loops_that_elements_leave__are_products() -> None:
    module = run_passes(load(FILE))
    weights = [b for b in module.buffers if b.name.startswith(("net", "color"))]
    assert len(weights) == 36
    assert [b.name for b in weights if not b.accumulation.is_matrix] == []


PARTIAL = """from typing import Annotated, Any
import slangad as sa
from slangad import Each, NoDiff, Param, float3
Net = Annotated[Any, sa.nn.MLP([3, 16, 16, 1], activation="softplus")]

@sa.differentiable
def glow(p: float3, c: float3, net: Net) -> float:
    near = 1.0 / sa.dot(p - c, p - c)
    return net(sa.Array[float, 3](p.x * near, p.y, p.z))[0]

@sa.kernel
def f(p: Each[float3], c: Each[float3], n: NoDiff[Each[int]], net: Param[Net]) -> Each[float]:
    total = 0.0
    for k in range(6):
        BEFORE
        AFTER
    return total
"""


@pytest.mark.parametrize(("leaves_first", "is_product"), [(False, True), (True, False)])
def test_marching__what_may_be_infinite__is_left_to_those_that_compute_it(
    tmp_path: Path, *, leaves_first: bool, is_product: bool
) -> None:
    lines = ["total += glow(p * float(k + 1), c, net)", "if k >= n:\n            break"]
    before, after = reversed(lines) if leaves_first else lines
    path = tmp_path / "partial.py"
    path.write_text(PARTIAL.replace("BEFORE", before).replace("AFTER", after))
    buffers = [b for b in run_passes(load(path)).buffers if b.name.startswith("net")]
    assert {b.accumulation.is_matrix for b in buffers} == {is_product}


def network(given: Arrays, name: str, *values: np.ndarray) -> np.ndarray:
    x = np.stack(values, -1)
    for layer in (1, 2, 3):
        x = x @ given[f"{name}.l{layer}.w"].T + given[f"{name}.l{layer}.b"]
        x = np.log(1 + np.exp(x)) if layer < 3 else x
    return x


def surface(given: Arrays) -> np.ndarray:
    o, r = given["o"], given["r"]
    t, going = 0j * o[:, 0], np.ones(len(o), bool)
    for _ in range(STEPS):
        step = 0.1 * network(given, "net", *(o + t[:, None] * r).T)[:, 0]
        going &= step.real >= 0.02
        t = t + np.where(going, step, 0)
    return t


def bounded(given: Arrays) -> np.ndarray:
    o, r = given["o"], given["r"]
    t, seen = 0j * o[:, 0] + 0.1, 0j * o[:, 0]
    for k in range(STEPS):
        going = t.real <= 0.6 + 1e-6
        d = network(given, "net", *(o + t[:, None] * r).T)[:, 0]
        t = t + np.where(going, 0.1, 0)
        seen = seen + np.where(going & (d.real <= 0.4), d * t * (1 + 0.1 * k), 0)
    return seen + t


def shaded(given: Arrays) -> np.ndarray:
    o, r = given["o"], given["r"]
    light, through, last = 0j * o[:, 0], 0j * o[:, 0] + 1, 0j * o[:, 0]
    going = np.ones(len(o), bool)
    for k in range(STEPS):
        p = o + 0.1 * k * r
        d = network(given, "net", *p.T)[:, 0]
        last = np.where(going, d, last)
        going &= through.real >= 0.2
        alpha = np.where(going, 0.5 / (1 + d * d), 0)
        c = network(given, "color", p[:, 0], d, p[:, 2])
        light = light + np.where(c[:, 0].real > 0, c[:, 0], 0.5 * c[:, 1]) * alpha * through
        through = through * (1 - alpha)
    return light + through + 0.1 * last


def as_long(given: Arrays) -> np.ndarray:
    o, r = given["o"], given["r"]
    t, going = 0j * o[:, 0], np.ones(len(o), bool)
    for k in range(1, STEPS):
        d = network(given, "net", *(o + t[:, None] * r).T)[:, 0]
        going &= d.real * k <= 4
        t = t + np.where(going, 0.1 * d, 0)
    return t


def listed(given: Arrays) -> np.ndarray:
    total = 0j * given["gain"]
    for k in range(LISTED):
        d = network(given, "net", *(given["place"][k] * np.sqrt(6.5 - k)))[0]
        total = total + np.where(k < given["n"], given["gain"] * d, 0)
    return total


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [1, 300])
@pytest.mark.parametrize("reference", [surface, bounded, shaded, as_long, listed], ids=lambda f: f.__name__)
def test_marching__gradients__are_those_of_float64(cxx: object, device: str, count: int, reference: object) -> None:
    assert callable(reference)
    rng = np.random.default_rng(count)
    given = {"o": floats(rng, -1, 1, count, 3), "r": floats(rng, -1, 1, count, 3)}
    names = ("net", "color") if reference is shaded else ("net",)
    for name in names:
        for layer, (before, after) in enumerate(zip(SIZES[name], SIZES[name][1:], strict=False), 1):
            given[f"{name}.l{layer}.w"] = (rng.normal(size=(after, before)) / before**0.5).astype(np.float32)
            given[f"{name}.l{layer}.b"] = floats(rng, -0.3, 0.3, after)
    seed = floats(rng, 0.5, 1, count)
    more = {"steps": STEPS} if reference is as_long else {}
    if reference is listed:
        given = {k: v for k, v in given.items() if k not in "or"}
        given |= {"place": floats(rng, -1, 1, LISTED, 3), "gain": floats(rng, 0.5, 1, count)}
        given["n"] = rng.integers(0, LISTED + 1, count).astype(np.int32)
    out = loaded(FILE, device)[reference.__name__].backward(**given, **more, cotangent=seed)
    found = {k: v for k, v in out.grad.items() if k not in names}
    for name in names:
        for layer, parts in out.grad[name].items():
            found |= {f"{name}.{layer}.{part}": v for part, v in parts.items()}
    along(lambda arrays: reference(arrays) * seed, given, found, rng)
