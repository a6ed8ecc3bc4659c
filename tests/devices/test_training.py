"""Pipelines and their training on GPU devices: what the CPU gives, and a network that learns."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import device_of

from slangad.compiler.api.program import RunnableProgram, read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.device.choice import is_software
from slangad.compiler.runtime.pipeline.run import prepare_pipeline, run_pipeline
from slangad.compiler.runtime.training.loop import Ending, train
from slangad.compiler.runtime.training.train import Trainer, TrainingPlan
from slangad.compiler.runtime.training.trainable import prepare_training
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from slangad.compiler.runtime.device.model import Device, DeviceProgram

ROOT = Path(__file__).parents[2]
DESCRIBED = ROOT / "tests" / "runtime" / "described" / "pipelines.py"
MLP = ROOT / "samples" / "mlp"
pytestmark = pytest.mark.toolchain
ENOUGH, ENOUGH_IN_SOFTWARE = 1e-3, 1e-2
"""The loss that networks get to, from above 5. In software, and through WebGPU's dispatches, a step takes long."""
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "images": {"image": (8, 12), "target": (2, 3)},
    "written": {"x": (20,), "p": (), "out": (20,)},
    "shared": {"x": (300,)},
    "rays": {"r.origin": (300, 3), "r.weight": (300,), "scale.origin": (3,), "scale.weight": ()},
}


@cache
def program(path: Path) -> RunnableProgram:
    return read_program(Input(path), Options(targets=(), cache=default_cache()))


@cache
def on(device: Device, name: str) -> DeviceProgram:
    described = program(DESCRIBED)
    return described.load_on(device, described.pipelines[name].entry_names())


def computed(device: Device, name: str, mode: RunMode, given: dict[str, Any]) -> dict[str, Any]:
    runnable = program(DESCRIBED).pipelines[name]
    return run_pipeline(
        device, on(device, name), runnable, mode, prepare_pipeline(runnable, mode, given), default_cache()
    )


@pytest.mark.parametrize("name", [*SHAPES])
@pytest.mark.parametrize("mode", ["backward", "jtjvp"])
def test_pipeline__on_a_gpu__gives_what_the_cpu_gives(gpu: Device, name: str, mode: str) -> None:
    stream = np.random.default_rng(8)
    given = {key: stream.uniform(-1, 1, shape).astype("f4") for key, shape in SHAPES[name].items()}
    if mode == "jtjvp":
        given |= {f"tangent.{k}": v for k, v in given.items() if k != "out"}
    expected = computed(device_of("cpu"), name, RunMode(mode), given)
    found = computed(gpu, name, RunMode(mode), given)
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        scale = float(np.abs(array).max(initial=1e-3))
        np.testing.assert_allclose(found[key], array, rtol=1e-4, atol=3e-4 * scale)  # Vulkan's sin has 11 bits


@pytest.mark.parametrize(
    "name", ["mlp.py:fit", pytest.param("mlp.py:fit_half", marks=pytest.mark.half), "mlp.yaml:fit"]
)
def test_network__trained_on_a_gpu__learns(gpu: Device, name: str) -> None:
    if gpu.name == "webgpu" and ".yaml" in name:
        pytest.skip("what a YAML file says is the same there as in Python, byte for byte")
    file, _, pipeline = name.partition(":")
    described = program(MLP / file)
    runnable = described.pipelines[pipeline]
    assert runnable.pipeline.optimizer is not None
    enough = ENOUGH_IN_SOFTWARE if gpu.name == "webgpu" or is_software(gpu.adapter) else ENOUGH
    plan = TrainingPlan(runnable.pipeline.optimizer, threshold=enough)
    with np.load(MLP / "points.npz") as points:
        prepared, _ = prepare_training(runnable, dict(points), None, plan)
    loaded = described.load_on(gpu, runnable.entry_names())
    trainer = Trainer.start(gpu, loaded, runnable, prepared, plan, default_cache())
    train(trainer, Ending(4000), lambda _: None)
    assert trainer.stopped
    assert trainer.losses[-1] < enough
    trainer.close()
