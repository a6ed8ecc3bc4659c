"""Every optimizer's kernel, for every type of number, does what the papers say, as NumPy computes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import need_half

from slangad.compiler.emit.entry_points.steps import emit_steps, state_scalar
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.ir.pipelines import Optimizer
from slangad.compiler.runtime.arrays.signature import DTYPES
from slangad.compiler.runtime.device.open import open_device
from slangad.compiler.runtime.pipeline.steps import Steps
from slangad.compiler.runtime.training.train import optimizer_settings
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.runtime.device.model import Device, DeviceBuffer

    Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.toolchain
COUNT, STEPS = 70, 6
OPTIMIZERS = (
    Optimizer("sgd", (0.1, 0.0, 0, 0)),
    Optimizer("sgd", (0.1, 0.9, 3, 0)),
    Optimizer("adam", (0.05, 0.9, 0.999, 1e-8, 0, 2)),
    Optimizer("adamw", (0.05, 0.8, 0.95, 1e-3, 0.1, 2, 1.5)),
)


def reference(optimizer: Optimizer, values: Array, gradients: Array) -> Array:
    """The values after all steps, in float64."""
    first, second = np.zeros(COUNT), np.zeros(COUNT)
    warmup, half_life = optimizer["warmup"], optimizer["half_life"]
    for number, g in enumerate(gradients, 1):
        grown = min(1, number / warmup) if warmup else 1
        lr = optimizer["lr"] * grown * (2.0 ** -(max(0, number - warmup) / half_life) if half_life else 1)
        if optimizer.name == "sgd":
            first = optimizer["momentum"] * first + g
            values = values - lr * first
            continue
        first = optimizer["beta1"] * first + (1 - optimizer["beta1"]) * g
        second = optimizer["beta2"] * second + (1 - optimizer["beta2"]) * g * g
        mean, square = first / (1 - optimizer["beta1"] ** number), second / (1 - optimizer["beta2"] ** number)
        decay = optimizer["weight_decay"] if optimizer.name == "adamw" else 0.0
        values = values - lr * decay * values
        values = values - lr * mean / (np.sqrt(square) + optimizer["eps"])
    return values


@pytest.fixture(scope="module", params=["cpu", "vulkan", "cuda", "webgpu"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    try:
        opened = open_device(request.param)
    except ToolchainError as error:
        if request.param == "cpu" or (request.param != "cuda" and os.environ.get("SLANGAD_REQUIRE_TOOLCHAIN")):
            raise
        pytest.skip(f"no {request.param}: {error}")
    with opened:
        yield opened


@pytest.mark.parametrize("scalar", ["half", "float", "double"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: f"{o.name}-{o.values[1]}-{o.values[-1]}")
def test_optimizer__some_steps__are_those_of_numpy(device: Device, optimizer: Optimizer, scalar: str) -> None:
    if scalar == "double" and device.name in ("vulkan", "webgpu"):
        pytest.skip("double is not for Vulkan, and WebGPU has none")
    if scalar == "half":
        need_half(device)
    stream = np.random.default_rng(4)
    begin = stream.uniform(-1, 1, COUNT).astype(DTYPES[scalar])
    gradients = stream.normal(0, 1, (STEPS, COUNT)).astype(DTYPES[state_scalar(scalar)])
    found = _run(device, optimizer, scalar, begin, gradients)
    expected = reference(optimizer, begin.astype("f8"), gradients.astype("f8"))
    tolerance = {"half": 2e-3, "float": 2e-6, "double": 1e-12}[scalar]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def _run(device: Device, optimizer: Optimizer, scalar: str, begin: Array, gradients: Array) -> Array:
    def made(array: Array) -> DeviceBuffer:
        buffer = device.buffer(array.dtype, array.size)
        buffer.upload(array)
        return buffer

    kind = "sgd" if optimizer.name == "sgd" else "adam"
    state = state_scalar(scalar)
    zeros = np.zeros(COUNT, DTYPES[state])
    bound = {name: made(zeros) for name in (("velocity",) if kind == "sgd" else ("mean", "square"))}
    bound |= {"values": made(begin), "stop": made(np.zeros(1, "u4"))}
    numbers = range(1, len(gradients) + 1)
    rows = [[*optimizer_settings(optimizer, number).values()] for number in numbers]
    settings = made(np.array(rows, DTYPES[state]).reshape(-1))
    if scalar == "half":
        bound["master"] = made(begin.astype("f4"))
    steps = Steps()
    planned = [
        steps.step(kind, scalar, COUNT, **bound, gradient=made(g), settings=settings, clock=made(np.array([n], "u4")))
        for n, g in zip(numbers, gradients, strict=True)
    ]
    steps.load(device, default_cache())
    device.submit(steps.launches(planned))
    return bound["values"].download()


@pytest.mark.parametrize(("kind", "buffers"), [("zero", 19), ("adam", 9), ("sgd", 3)])
def test_together__steps_for_buffers_of_all_sizes__are_one_launch_for_several(
    device: Device, kind: str, buffers: int
) -> None:
    stream = np.random.default_rng(7)
    sizes = [5000, 0, 1, 7, *stream.integers(1, 300, buffers - 3)][: buffers + 1]
    names = {
        "zero": ("target",),
        "adam": ("mean", "square", "gradient", "values"),
        "sgd": ("velocity", "gradient", "values"),
    }
    numbers = {
        "settings": stream.uniform(0.1, 0.9, 9).astype("f4"),
        "clock": np.ones(1, "u4"),
        "stop": np.zeros(1, "u4"),
    }
    given = [{name: stream.uniform(0.5, 1.5, size).astype("f4") for name in names[kind]} for size in sizes]

    def made(array: Array) -> DeviceBuffer:
        buffer = device.buffer(array.dtype, array.size)
        buffer.upload(array)
        return buffer

    def run(*, together: bool) -> tuple[list[Array], int]:
        steps = Steps()
        shared = {name: made(array) for name, array in numbers.items()} if kind != "zero" else {}
        bound = [{name: made(array) for name, array in one.items()} for one in given]
        planned = [steps.step(kind, "float", size, **shared, **one) for size, one in zip(sizes, bound, strict=True)]
        ready = steps.together(planned, device) if together else planned
        steps.load(device, default_cache())
        launches = steps.launches(ready)
        device.submit(launches)
        return [one[names[kind][-1]].download() for one in bound], len(launches)

    (found, few), (expected, many) = run(together=True), run(together=False)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert many == buffers
    alone = int(device.name == "cpu")  # the largest one
    most = 1 if device.name == "webgpu" else {"zero": 8, "adam": 6, "sgd": 8}[kind]
    assert few == alone + -(-(buffers - alone) // most)


def test_steps__emitted_for_all_types__name_every_kernel() -> None:
    wanted = [(kind, scalar, "") for kind in ("sgd", "adam", "zero") for scalar in ("half", "float", "double")]
    emitted = emit_steps([*wanted, ("add", "half", "float")], {("adam", "half", ""): 3})
    names = [entry.symbol for entry in emitted.entry_points]
    assert len(names) == 11
    assert all(f"void {name}(" in emitted.text for name in names)
