"""Networks in half with rectifiers between layers: gradients near those of float64, where no unit is near its kink.

Weights are drawn again until each unit is far from zero for all samples. These are of two kinds, so that units are on
for some samples and off for others.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import device_of

from slangad.compiler.frontends import load
from slangad.compiler.ir.layers import layers_of
from slangad.compiler.ir.targets import MMA, TILES
from slangad.compiler.passes import run_passes
from slangad.compiler.runtime.device.slangpy_device import macros_of

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile, LoadedKernel

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("rectified.py")
Arrays = dict[str, np.ndarray]
MARGIN = 0.05


def samples(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs near a vector or its opposite, and cotangents of the results."""
    rng = np.random.default_rng(count)
    kinds = rng.choice([-1.0, 1.0], (count, 1)) * rng.uniform(0.5, 1.0, 16)
    return (kinds + rng.uniform(-0.02, 0.02, (count, 16))).astype("f4"), rng.uniform(-1, 1, (count, 3)).astype("f4")


def drawn(sizes: tuple[int, ...], x: np.ndarray, off: int = 0, bias: float = 0.5) -> list[Arrays]:
    """Layers whose units are far from zero; the last ``off`` units of each have zeros for weights and biases."""
    rng, layers, y = np.random.default_rng(sizes[0]), [], x.astype(np.float64)
    for n, m in pairwise(sizes):
        w, b, near = np.zeros((m, n)), np.zeros(m), np.ones(m, bool)
        while near.any():
            w[near] = rng.uniform(-1, 1, (near.sum(), n)) * (3 / n) ** 0.5
            b[near] = rng.uniform(-bias, bias, near.sum())
            z = y @ w.astype("f4").T.astype(np.float64) + b.astype("f4")
            near = (np.abs(z) < MARGIN * np.abs(z).mean()).any(0)
        if off and len(layers) < len(sizes) - 2:
            w[-off:], b[-off:], z[:, -off:] = 0, 0, 0
        layers.append({"w": w.astype("f4"), "b": b.astype("f4")})
        y = np.maximum(z, 0)
    return layers


def reference(layers: list[Arrays], x: np.ndarray, cotangent: np.ndarray, sine: int = 0) -> Arrays:
    """The result and the gradients in float64. The derivative of max(x, 0) at zero is 1/2. ``sine`` follows a layer."""
    inputs, gates = [x.astype(np.float64)], []
    for k, layer in enumerate(layers, start=1):
        z = inputs[-1] @ layer["w"].T.astype(np.float64) + layer.get("b", 0)
        gates.append(np.cos(z) if k == sine else np.where(z == 0, 0.5, z > 0))
        inputs.append(np.sin(z) if k == sine else np.maximum(z, 0))
    found, moved = {"result": z}, cotangent.astype(np.float64)
    for k in range(len(layers), 0, -1):
        if k < len(layers):
            moved = moved * gates[k - 1]
        gradients = {"w": moved.T @ inputs[k - 1], "b": moved.sum(0)}
        found |= {f"grad.net.l{k}.{part}": gradients[part] for part in layers[k - 1]}
        moved = moved @ layers[k - 1]["w"].astype(np.float64)
    return found | {"grad.x": moved}


def agree(kernel: LoadedKernel, layers: list[Arrays], x: np.ndarray, cotangent: np.ndarray, sine: int = 0) -> None:
    """Compare values, gradients, and how values change along a tangent of everything."""
    device = device_of(kernel.device)
    units = device.name in ("cuda", "vulkan") and {MMA, TILES} & {
        *macros_of(device.name, device.adapter, device.abilities)
    }
    limit = 2e-3 if units else 1e-5
    net = {f"l{k}": layer for k, layer in enumerate(layers, start=1)}
    expected = reference(layers, x, cotangent, sine)
    found = dict(kernel.backward(net=net, x=x, cotangent=cotangent)) | {"result": kernel.forward(net=net, x=x).result}
    rng = np.random.default_rng(1)
    direction = {
        "x": rng.uniform(-1, 1, x.shape).astype("f4"),
        "net": {name: {p: (rng.uniform(-1, 1, a.shape) * abs(a)).astype("f4") for p, a in layer.items()}
                for name, layer in net.items()},
    }  # fmt: skip
    moved = kernel.jvp(net=net, x=x, tangent=direction)["jvp.result"]
    across = sum(
        np.sum(expected[f"grad.net.{name}.{part}"] * moved)
        for name in net
        for part, moved in direction["net"][name].items()
    )
    expected["moved"] = across + np.sum(expected["grad.x"] * direction["x"])
    found["moved"] = np.sum(np.asarray(moved, np.float64) * cotangent)
    for key, wanted in expected.items():
        array = np.asarray(found[key], np.float64)
        size = np.linalg.norm(wanted) if key != "moved" else np.linalg.norm(moved) * np.linalg.norm(cotangent)
        assert np.linalg.norm(array - wanted) <= limit * size, (key, np.linalg.norm(array - wanted) / size)


@pytest.fixture(scope="module")
def linked() -> dict[str, dict[str, tuple[bool, bool]]]:
    """Which layers take and give positive parts, by kernel."""
    found: dict[str, dict[str, tuple[bool, bool]]] = {}
    for key, layer in layers_of(run_passes(load(DESCRIBED))).items():
        kernel, _, matrix = key.partition(".net.")
        found.setdefault(kernel, {})[matrix[:2]] = (layer.takes_rectified, layer.gives_rectified)
    return found


FIRST, INNER, LAST, NONE = (False, True), (True, True), (True, False), (False, False)

LINKED = {
    "results_16": {"l1": NONE, "l2": NONE},  # few units: nothing is gained
    "results_64_64": {"l1": FIRST, "l2": INNER, "l3": LAST},
    "results_128_128": {"l1": FIRST, "l2": INNER, "l3": LAST},
    "results_48_128_96": {"l1": FIRST, "l2": INNER, "l3": INNER, "l4": LAST},
    "results_128_144_32": {"l1": NONE, "l2": NONE, "l3": NONE, "l4": NONE},  # Vulkan takes the outer ones
    "without_gradient": {"l1": NONE, "l2": NONE, "l3": NONE},
    "mixed": {"l1": FIRST, "l2": INNER, "l3": LAST, "l4": NONE},
}


@pytest.mark.parametrize("kernel", LINKED)
def test_layers__with_rectifiers_between__give_positive_parts(
    linked: dict[str, dict[str, tuple[bool, bool]]], kernel: str
) -> None:
    assert linked[kernel] == LINKED[kernel]


@pytest.mark.one_driver
@pytest.mark.parametrize("hidden", [(16,), (64, 64), (128, 128), (48, 128, 96), (128, 144, 32)])
def test_networks__of_any_widths__are_near_float64(kernels: LoadedFile, hidden: tuple[int, ...]) -> None:
    x, cotangent = samples(600)
    kernel = kernels["_".join(("results", *map(str, hidden)))]
    agree(kernel, drawn((16, *hidden, 3), x), x, cotangent)


@pytest.mark.parametrize("count", [1, 33])
def test_networks__of_few_samples__are_near_float64(kernels: LoadedFile, count: int) -> None:
    x, cotangent = samples(count)
    agree(kernels.results_16, drawn((16, 16, 3), x), x, cotangent)


def test_layers__with_another_function_and_without_a_bias__are_near_float64(kernels: LoadedFile) -> None:
    x, cotangent = samples(300)
    layers = drawn((16, 48, 64, 32, 3), x, bias=0)
    del layers[1]["b"]
    agree(kernels.mixed, layers, x, cotangent, sine=3)


def test_layers__with_an_activation_without_gradient__have_none(kernels: LoadedFile) -> None:
    x, cotangent = samples(33)
    net = {f"l{k}": layer for k, layer in enumerate(drawn((16, 48, 48, 3), x), start=1)}
    found = kernels.without_gradient.backward(net=net, x=x, cotangent=cotangent)
    assert np.any(found["grad.net.l3.w"])
    assert not any(np.any(found[key]) for key in ("grad.net.l1.w", "grad.net.l2.b", "grad.x"))


def test_networks__with_units_at_their_kink__have_half_the_derivative_there(kernels: LoadedFile) -> None:
    x, cotangent = samples(300)
    agree(kernels.results_128_128, drawn((16, 128, 128, 3), x, off=40), x, cotangent)


@pytest.mark.parametrize("size", [1e-7, 1e-3, 1e3, 1e7])
def test_networks__of_numbers_of_any_size__are_near_float64(kernels: LoadedFile, size: float) -> None:
    """The second half of the units has other numbers than the first; and some waves have others than the rest."""
    x, cotangent = samples(600)
    layers = drawn((16, 128, 128, 3), x)
    layers[1]["w"][64:] *= size
    layers[1]["b"][64:] *= size
    agree(kernels.results_128_128, layers, x, np.float32(size) * cotangent)
    layers = drawn((16, 128, 128, 3), x, bias=0)
    x[:320] *= size  # whole waves
    agree(kernels.results_128_128, layers, x, cotangent)
