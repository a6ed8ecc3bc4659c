"""Products on matrix units: values and gradients are near those of float64, however small or large numbers are.

Devices without matrix units compute products in half in float, to its accuracy.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import device_of

from slangad.compiler.frontends import load
from slangad.compiler.ir.targets import MMA, TILES
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.passes import run_passes
from slangad.compiler.runtime.device.slangpy_device import macros_of

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile, LoadedKernel

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("half_products.py")
HALF = 2e-3
FLOAT = 1e-5
ROUNDED = 2.0**-11
"""What rounding to half takes from a gradient at most, by norm."""
Arrays = dict[str, np.ndarray]


def weights(hidden: tuple[int, ...], inputs: int = 16) -> Arrays:
    rng, net = np.random.default_rng(hidden[0]), {}
    for k, (n, m) in enumerate(pairwise((inputs, *hidden, 3)), start=1):
        net[f"l{k}.w"] = (rng.uniform(-1, 1, (m, n)) * (3 / n) ** 0.5).astype("f4")
        net[f"l{k}.b"] = rng.uniform(-0.5, 0.5, m).astype("f4")
    return net


def nested(net: Arrays) -> dict[str, Arrays]:
    return {f"l{k}": {part: net[f"l{k}.{part}"] for part in "wb"} for k in range(1, len(net) // 2 + 1)}


def reference(net: Arrays, x: np.ndarray, cotangent: np.ndarray, *, bent: bool) -> Arrays:
    """The result and the gradients in float64."""
    inputs, last = [x.astype(np.float64)], len(net) // 2
    for k in range(1, last + 1):
        z = inputs[-1] @ net[f"l{k}.w"].T.astype(np.float64) + net[f"l{k}.b"]
        inputs.append(np.tanh(z) if bent and k < last else z)
    found, moved = {"result": inputs[last]}, cotangent.astype(np.float64)
    for k in range(last, 0, -1):
        if bent and k < last:
            moved = moved * (1 - inputs[k] ** 2)
        found |= {f"grad.net.l{k}.w": moved.T @ inputs[k - 1], f"grad.net.l{k}.b": moved.sum(0)}
        moved = moved @ net[f"l{k}.w"].astype(np.float64)
    return found | {"grad.x": moved}


def tolerance(kernels: LoadedFile) -> float:
    """The tolerance of a device: that of half where it has matrix units."""
    device = device_of(kernels.stacked.device)
    if device.name not in ("cuda", "vulkan"):
        return FLOAT
    return HALF if {MMA, TILES} & {*macros_of(device.name, device.adapter, device.abilities)} else FLOAT


def agree(
    kernels: LoadedFile,
    width: int,
    x: np.ndarray,
    cotangent: np.ndarray,
    precision: str = "half",
    activation: str = "tanh",
    size: float = 1.0,
    name: str = "results",
) -> None:
    """Compare a network with one hidden layer, or two of more than 17 units; ``size`` is a factor of its weights."""
    device, limit = kernels.stacked.device, tolerance(kernels)
    if device in ("vulkan", "webgpu") and limit == FLOAT and width > 17:
        pytest.skip("drivers in software take minutes to compile wide networks")
    hidden = (width,) * (2 if width > 17 else 1)
    kernel = kernels[f"{name}_{width}_{activation}_{len(hidden)}_{precision}"]
    limit = limit if precision == "half" else FLOAT
    stored = "f2" if name == "stored" else "f4"
    agree_with(kernel, hidden, x, cotangent, bent=activation == "tanh", limit=limit, size=size, stored=stored)


def agree_with(
    kernel: LoadedKernel,
    hidden: tuple[int, ...],
    x: np.ndarray,
    cotangent: np.ndarray,
    *,
    bent: bool,
    limit: float,
    size: float = 1.0,
    stored: str = "f4",
) -> None:
    net = {
        key: (size * values if key.endswith("w") else values).astype(stored)
        for key, values in weights(hidden, x.shape[1]).items()
    }
    expected = reference(net, x, cotangent, bent=bent)
    out = kernel.backward(net=nested(net), x=x, cotangent=cotangent)
    found = {key: out[key] for key in expected if key != "result"}
    found["result"] = kernel.forward(net=nested(net), x=x).result
    for key, wanted in expected.items():
        array = np.asarray(found[key], np.float64)
        assert array.shape == wanted.shape, key
        error = np.linalg.norm(array - wanted)
        most = limit + (ROUNDED if np.asarray(found[key]).dtype == np.float16 else 0.0)
        assert error <= most * np.linalg.norm(wanted), (key, error / np.linalg.norm(wanted))


def samples(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    return rng.uniform(-1, 1, (count, 16)).astype("f4"), rng.uniform(-1, 1, (count, 3)).astype("f4")


@pytest.mark.parametrize("precision", ["half", "float"])
@pytest.mark.parametrize("count", [0, 1, 33, 700])
def test_networks__of_any_batch__are_near_float64(kernels: LoadedFile, count: int, precision: str) -> None:
    agree(kernels, 17, *samples(count), precision)


@pytest.mark.both_drivers
@pytest.mark.parametrize("width", [16, 32, 64, 100, 128])
def test_networks__of_any_width__are_near_float64(kernels: LoadedFile, width: int) -> None:
    agree(kernels, width, *samples(700))


@pytest.mark.one_driver
@pytest.mark.parametrize("width", [16, 17, 32, 64, 80, 128])
def test_networks__in_float__are_near_float64(kernels: LoadedFile, width: int) -> None:
    agree(kernels, width, *samples(700), "float")


@pytest.mark.one_driver
@pytest.mark.parametrize(
    ("width", "precision"), [(17, "half"), (64, "half"), (128, "half"), (17, "float"), (64, "float")]
)
def test_networks__that_are_stored_as_halfs__are_near_float64(kernels: LoadedFile, width: int, precision: str) -> None:
    agree(kernels, width, *samples(700), precision, name="stored")


@pytest.mark.parametrize(("inputs", "precision"), [(784, "float"), (652, "float"), (652, "half")])
def test_networks__of_many_inputs__are_near_float64(kernels: LoadedFile, inputs: int, precision: str) -> None:
    if kernels.stacked.device in ("vulkan", "webgpu") and tolerance(kernels) == FLOAT:
        pytest.skip("drivers in software take minutes to compile wide networks")
    x, cotangent = np.random.default_rng(inputs).uniform(-1, 1, (300, inputs)).astype("f4"), samples(300)[1]
    limit = tolerance(kernels) if precision == "half" else FLOAT
    agree_with(kernels[f"results_48_tanh_1_{precision}_{inputs}"], (48,), x, cotangent, bent=True, limit=limit)


@pytest.mark.parametrize(
    ("hidden", "group", "precision"),
    [
        ((48, 16, 64), 512, "half"),
        ((32, 17, 48), 256, "half"),
        ((48, 16, 64), 512, "float"),
        ((16, 64, 16), 256, "float"),
        ((33, 16, 16), 256, "float"),
        ((64, 80, 48), 256, "float"),
        ((64, 80, 48), 256, "half"),
    ],
)
def test_networks__of_different_widths__are_near_float64(
    kernels: LoadedFile, hidden: tuple[int, ...], group: int, precision: str
) -> None:
    if kernels.stacked.device in ("vulkan", "webgpu") and tolerance(kernels) == FLOAT:
        pytest.skip("drivers in software take minutes to compile wide networks")
    kernel = kernels["_".join(("between", *map(str, hidden), str(group), precision))]
    limit = tolerance(kernels) if precision == "half" else FLOAT
    agree_with(kernel, hidden, *samples(700), bent=True, limit=limit)


def test_networks__of_layers_in_half_and_in_float__are_near_float64(kernels: LoadedFile) -> None:
    agree_with(kernels.alternating, (17, 16, 16), *samples(700), bent=True, limit=tolerance(kernels))


def test_networks__after_a_turn_of_zeros__are_near_float64(kernels: LoadedFile) -> None:
    """Groups start with zeros, which have no size, and go on with numbers that are far beyond the range of half."""
    x, cotangent = samples(40_000)
    x[:33_792] = cotangent[:33_792] = 0
    agree_with(kernels.results_13_none_1_half, (13,), 1e7 * x, 1e6 * cotangent, bent=False, limit=tolerance(kernels))


NETWORKS = pytest.mark.parametrize(("width", "precision"), [(17, "half"), (64, "half"), (64, "float")])


@pytest.mark.parametrize(("width", "activation", "precision"), [
    (17, "tanh", "half"), (17, "tanh", "float"), (64, "none", "half"), (64, "none", "float"),
])  # fmt: skip
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_networks__of_small_and_large_weights__are_near_float64(
    kernels: LoadedFile, width: int, activation: str, precision: str, size: float
) -> None:
    x, cotangent = samples(300)
    agree(kernels, width, (x / size).astype("f4"), cotangent, precision, activation, size)


@NETWORKS
@pytest.mark.parametrize("factor", [1e-30, 1e-7, 1e4, 1e20])
def test_networks__of_small_and_large_cotangents__neither_underflow_nor_overflow(
    kernels: LoadedFile, width: int, precision: str, factor: float
) -> None:
    x, cotangent = samples(300)
    agree(kernels, width, x, (cotangent * factor).astype("f4"), precision)


@pytest.mark.parametrize(("width", "precision"), [(13, "half"), (64, "half"), (64, "float")])
@pytest.mark.parametrize("factor", [1e-7, 300.0, 1e7])
def test_networks__of_small_and_large_inputs__neither_underflow_nor_overflow(
    kernels: LoadedFile, width: int, precision: str, factor: float
) -> None:
    x, cotangent = samples(300)
    agree(kernels, width, (x * factor).astype("f4"), cotangent, precision, "none")


@pytest.mark.both_drivers
@NETWORKS
def test_networks__of_vectors_of_very_different_sizes__are_near_float64(
    kernels: LoadedFile, width: int, precision: str
) -> None:
    x, cotangent = samples(300)
    sizes = 10.0 ** np.random.default_rng(1).uniform(-6, 0, (300, 1))
    agree(kernels, width, x, (cotangent * sizes).astype("f4"), precision)


def test_stack__of_matrices_without_biases__is_near_float64(kernels: LoadedFile) -> None:
    x = samples(300)[0]
    w = (np.random.default_rng(4).uniform(-1, 1, (3, 16, 16)) * 0.4).astype("f4")
    inputs = [x.astype(np.float64)]
    for k in range(3):
        inputs.append(inputs[-1] + inputs[-1] @ w[k].T.astype(np.float64))
    moved, d_w = 2 * inputs[3], np.zeros(w.shape)
    for k in (2, 1, 0):
        d_w[k] = moved.T @ inputs[k]
        moved = moved + moved @ w[k].astype(np.float64)
    out = kernels.stacked.backward(net={"w": w}, x=x)
    for found, wanted in ((out["grad.net.w"], d_w), (out["grad.x"], moved), (out["result"], (inputs[3] ** 2).sum())):
        assert np.linalg.norm(np.asarray(found) - wanted) <= tolerance(kernels) * np.linalg.norm(wanted)


DIFFERENT = """
import slangad as sa
from slangad import Array, Each, Param

Wide = sa.nn.Linear(65, 3, precision="half")
Shared = sa.nn.Linear(16, 16, precision="half")

@sa.kernel
def wide(x: Each[Array[float, 65]], net: Param[Wide]) -> Each[Array[float, 3]]:
    return net(x)

@sa.kernel(group_size=512)
def grouped(x: Each[Array[float, 16]], net: Param[Shared]) -> Each[Array[float, 16]]:
    return net(x)

@sa.kernel
def mixed(x: Each[Array[float, 16]], net: Param[Shared]) -> Each[Array[float, 16]]:
    y = net(x)
    z = Array[float, 16]()
    for i in range(16):
        total = 0.0
        for j in range(16):
            total += net.w[i][j] * y[j]
        z[i] = total
    return z

@sa.kernel
def plain(x: Each[Array[float, 16]], net: Param[Shared]) -> Each[Array[float, 16]]:
    return net(x)
"""


def test_products__that_cannot_be_in_half__are_in_float_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "different.py"
    file.write_text(DIFFERENT)
    module = run_passes(load(file))
    found = {b.key: (b.accumulation.value, b.why) for b in module.buffers if b.path[-1:] == ("w",)}
    assert found == {
        "wide.net.w": ("half_matrix", ""),
        "grouped.net.w": ("matrix", "the kernel's groups have 512 threads, more than 256"),
        "mixed.net.w": ("matrix", "a function of precision float multiplies by it too"),
        "plain.net.w": ("half_matrix", ""),
    }


def test_products__in_half__are_text_that_is_read_again() -> None:
    text = show(run_passes(load(DESCRIBED)))
    assert 'precision "half"' in text
    assert " half_matrix " in text
    assert show(parse(text)) == text


def test_macros__of_devices__have_matrix_units_where_waves_and_tiles_are_known() -> None:
    devices = {
        ("cuda", "NVIDIA H100", ("_cuda_sm_8_0", "_cuda_sm_9_0")): [MMA],
        ("cuda", "NVIDIA T4", ("_cuda_sm_7_0",)): [],
        ("vulkan", "NVIDIA H100", ("cooperative_matrix",)): [TILES],
        ("vulkan", "NVIDIA GTX 1060", ()): [],
        ("vulkan", "AMD Radeon", ("cooperative_matrix",)): [],
        ("metal", "Apple M3", ("cooperative_matrix",)): [],
    }
    assert {d: [m for m in macros_of(*d) if m in (MMA, TILES)] for d in devices} == devices
