"""Pipelines on the cpu: what Python computes, gradients that agree with tangents and differences, sums over uses."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.api.program import RunnableProgram, read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.emit.model import symbols
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.device.open import open_device
from slangad.compiler.runtime.pipeline.run import prepare_pipeline, run_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.runtime.device.model import Device, DeviceProgram

    Arrays = dict[str, Any]

FILE = Path(__file__).parent / "described" / "pipelines.py"
N = 7
GIVEN: dict[str, dict[str, tuple[int, ...]]] = {
    "images": {"image": (8, 12), "target": (2, 3)},
    "written": {"x": (N,), "p": (), "out": (N,)},
    "in_place": {"v": (N,), "p": ()},
    "shared": {"x": (N,)},
    "listed": {"x": (N,)},
    "neighbours": {"x": (N,), "y": (N,)},
    "apart": {"x": (N,), "y": (N,)},
    "textured": {"at": (N, 2), "tiles": (4, 3, 3)},
    "rays": {"r.origin": (N, 3), "r.weight": (N,), "scale.origin": (3,), "scale.weight": ()},
}
pytestmark = pytest.mark.toolchain


@pytest.fixture(scope="module")
def program() -> RunnableProgram:
    return read_program(Input(FILE), Options(targets=()))


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with open_device("cpu") as opened:
        yield opened


@pytest.fixture(scope="module")
def loaded(device: Device, program: RunnableProgram) -> DeviceProgram:
    return program.load_on(device, symbols(program.emitted.entry_points))


@pytest.fixture
def run(device: Device, program: RunnableProgram, loaded: DeviceProgram) -> Callable[..., Arrays]:
    def call(name: str, mode: RunMode, given: Arrays, domain: tuple[int, ...] | None = None) -> Arrays:
        runnable = program.pipelines[name]
        return run_pipeline(device, loaded, runnable, mode, prepare_pipeline(runnable, mode, given, domain))

    return call


def drawn(name: str, prefix: str = "", seed: int = 0) -> Arrays:
    stream = np.random.default_rng([seed, len(prefix)])
    return {f"{prefix}{k}": stream.uniform(-1, 1, shape).astype("f4") for k, shape in GIVEN[name].items()}


@pytest.mark.parametrize("name", ["images", "written", "in_place", "shared", "listed", "neighbours"])
def test_forward__of_a_pipeline__is_what_python_computes(name: str, run: Callable[..., Arrays]) -> None:
    given = drawn(name)
    found = run(name, RunMode.FORWARD, given)
    copies = {key: array.copy() if array.ndim else array[()] for key, array in given.items()}
    expected = runpy.run_path(str(FILE))[name](**copies)
    results = expected if isinstance(expected, tuple) else (expected,)
    keys = [f"result.{i}" for i in range(len(results))] if isinstance(expected, tuple) else ["result"]
    for key, result in zip(keys, results, strict=True):
        np.testing.assert_allclose(found[key], result, rtol=1e-5, atol=1e-6)
    for key in ("out", "v"):
        if key in given:
            np.testing.assert_allclose(found[key], copies[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*GIVEN])
def test_backward__of_a_pipeline__agrees_with_its_tangents_and_differences(
    name: str, run: Callable[..., Arrays]
) -> None:
    given, moving = drawn(name), {k: v for k, v in drawn(name, "tangent.").items() if k != "tangent.out"}
    forward = run(name, RunMode.JVP, {**given, **moving})
    stream = np.random.default_rng(3)
    weights = {k: stream.uniform(-1, 1, v.shape).astype("f4") for k, v in forward.items() if not k.startswith("jvp.")}
    cotangents = {f"cotangent.{k}": w for k, w in weights.items()}
    backward = run(name, RunMode.BACKWARD, {**given, **cotangents})
    along = sum(float(np.sum(forward[f"jvp.{k}"].astype("f8") * w)) for k, w in weights.items())
    against = sum(float(np.sum(backward[f"grad.{k[8:]}"].astype("f8") * v)) for k, v in moving.items())
    assert abs(along - against) <= 1e-5 * (abs(along) + abs(against) + 1)
    step = 1e-2
    ends = []
    for sign in (1, -1):
        moved = {k: v + np.float32(sign * step) * moving.get(f"tangent.{k}", np.float32(0)) for k, v in given.items()}
        there = run(name, RunMode.FORWARD, moved)
        ends.append(sum(float(np.sum(there[k].astype("f8") * w)) for k, w in weights.items()))
    assert abs((ends[0] - ends[1]) / (2 * step) - along) <= 2e-2 * (abs(along) + 1)


@pytest.mark.parametrize("name", [*GIVEN])
def test_backward__gradients_that_are_given__are_added_to(name: str, run: Callable[..., Arrays]) -> None:
    given = drawn(name)
    plain = {k: v for k, v in run(name, RunMode.BACKWARD, given).items() if k.startswith("grad.")}
    start = {key: np.arange(array.size, dtype="f4").reshape(array.shape) + 5 for key, array in plain.items()}
    found = run(name, RunMode.BACKWARD, {**given, **start})
    assert plain
    for key, array in plain.items():
        np.testing.assert_allclose(found[key], array + start[key], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["images", "rays", "written"])
def test_gauss_newton__of_a_pipeline__is_backward_of_the_tangents(name: str, run: Callable[..., Arrays]) -> None:
    given, moving = drawn(name), {k: v for k, v in drawn(name, "tangent.").items() if k != "tangent.out"}
    forward = run(name, RunMode.JVP, {**given, **moving})
    cotangents = {f"cotangent.{k[4:]}": v for k, v in forward.items() if k.startswith("jvp.result")}
    expected = run(name, RunMode.BACKWARD, {**given, **cotangents})
    found = run(name, RunMode.JTJVP, {**given, **moving})
    for key in (k for k in expected if k.startswith("grad.")):
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("fused", "apart"), [("neighbours", "apart"), ("rays", "rays_apart")])
def test_fusion__of_neighbours__gives_the_same_gradients(
    fused: str, apart: str, program: RunnableProgram, run: Callable[..., Arrays]
) -> None:
    assert len(program.pipelines[fused].pipeline.stages) == 1
    assert len(program.pipelines[apart].pipeline.stages) > 1
    one, other = (run(name, RunMode.BACKWARD, drawn(fused)) for name in (fused, apart))
    assert one.keys() == other.keys()
    for key, array in one.items():
        np.testing.assert_allclose(array, other[key], rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("mode", [RunMode.BACKWARD, RunMode.JTJVP])
def test_backward__probe_of_a_kernel_that_is_called_twice__has_a_key_for_each(
    mode: RunMode, program: RunnableProgram, run: Callable[..., Arrays]
) -> None:
    assert [s.kernel for s in program.pipelines["watched_twice"].pipeline.stages] == ["watch", "watch_then_watch_sum"]
    x, p = np.linspace(0.5, 1.5, N).astype("f4"), np.float32(0.5)
    tangent = {"tangent.x": np.zeros(N, "f4"), "tangent.p": np.float32(1)} if mode is RunMode.JTJVP else {}
    found = run("watched_twice", mode, {"x": x, "p": p, **tangent})
    first, weight = p * x * x, 1.0 if mode is RunMode.BACKWARD else float(found["probe.last"][0])
    second = p * first * first
    np.testing.assert_allclose(found["probe.y#2"], weight * 2 * second, rtol=1e-5)
    np.testing.assert_allclose(found["probe.y"], weight * 2 * second * 2 * p * first, rtol=1e-5)
    assert next(key for key in found if key.startswith("probe.")) == "probe.y"


def test_backward__half_parameter__adds_up_in_float(run: Callable[..., Arrays]) -> None:
    x = np.linspace(-1, 1, 300).astype("f2")
    found = run("halves", RunMode.BACKWARD, {"x": x, "p": np.float16(0.5)})
    assert "grad.x" not in found
    np.testing.assert_allclose(float(found["grad.p"]), 4 * 0.5**3 * np.sum(x.astype("f8") ** 2), rtol=2e-3)


def test_backward__integers_and_bools__have_no_gradient(run: Callable[..., Arrays]) -> None:
    given = {"x": np.float32([1, 2]), "n": np.int32([3, 4]), "on": np.array([True, False])}
    found = run("choices", RunMode.BACKWARD, given)
    assert sorted(found) == ["grad.x", "result"]
    assert found["result"] == 9.0**2 + (2.0**4) ** 2
    np.testing.assert_allclose(found["grad.x"], [2 * 9 * 9, 8 * 2**7], rtol=1e-6)


def test_run__no_elements__gives_zeros(run: Callable[..., Arrays]) -> None:
    empty = {"x": np.zeros(0, "f4"), "y": np.zeros(0, "f4")}
    found = run("neighbours", RunMode.BACKWARD, empty)
    assert found["result"] == 0.0
    assert found["grad.x"].shape == (0,)


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("images", {"target": np.zeros((2, 4), "f4")}, "target has 2x4 elements"),
        ("neighbours", {"y": np.zeros(3, "f4")}, "y has 3 elements and x has 7"),
        ("neighbours", {"cotangent.result": np.zeros(2, "f4")}, "SA412: cotangent.result has shape (2,), not ()"),
        ("neighbours", {"cotangent.result": "one"}, "SA413: cotangent.result holds text, not float32"),
        ("neighbours", {"cotangent.x": np.zeros(2, "f4")}, "there is no cotangent.x"),
        ("neighbours", {"z": np.zeros(2, "f4")}, "neighbours takes no z"),
    ],
)
def test_run__what_does_not_fit__is_refused(
    name: str, changed: Arrays, message: str, run: Callable[..., Arrays]
) -> None:
    with pytest.raises(CompileError) as refused:
        run(name, RunMode.BACKWARD, {**drawn(name), **changed})
    (first, *_) = refused.value.diagnostics
    assert message in f"{first.code}: {first.message}"


def test_load__a_pipeline__is_called_as_kernels_are(run: Callable[..., Arrays]) -> None:
    given, weights = drawn("written"), np.linspace(-1, 1, N).astype("f4")
    loaded = sa.load(FILE, "cpu").written
    found = loaded.backward(given["x"], given["p"], given["out"], cotangent=(2.0, weights))
    seeds = {"cotangent.result.0": np.float32(2.0), "cotangent.result.1": weights}
    expected = run("written", RunMode.BACKWARD, {**given, **seeds})
    np.testing.assert_array_equal(found.grad["x"], expected["grad.x"])
    np.testing.assert_array_equal(found.outputs["out"], expected["out"])
    assert len(found.result) == 2
    assert repr(loaded) == "<pipeline written(x: each float, p: param float, out: out_tensor float) on cpu>"
    np.testing.assert_array_equal(loaded(given["x"], given["p"], given["out"])[1], expected["result.1"])


@pytest.mark.parametrize(("given", "gradient"), [({}, 72), ({"result": 2}, 144), ({"bins": [1, 1]}, 82)])
def test_backward__of_a_tensor_that_a_later_stage_takes__adds_nothing_unless_it_is_given(
    given: Arrays, gradient: float, run: Callable[..., Arrays]
) -> None:
    """The loss is (4 g - 1)^2 + (6 g - 2)^2, and the sum of the bins 10 g, at g = 1."""
    inputs = {"x": [1, 2, 3, 4], "gain": 1, "wanted": [1, 2], "bins": [0, 0]}
    arrays = {k: np.float32(v) for k, v in (inputs | {f"cotangent.{k}": v for k, v in given.items()}).items()}
    assert run("collected", RunMode.BACKWARD, arrays)["grad.gain"] == gradient


def test_backward__of_a_tensor_that_is_only_counted__is_that_of_its_sum(run: Callable[..., Arrays]) -> None:
    inputs = {"x": [1, 2, 3, 4], "gain": 1, "least": [1, 2], "bins": [0, 0]}
    assert run("counted", RunMode.BACKWARD, {k: np.float32(v) for k, v in inputs.items()})["grad.gain"] == 10


def test_gauss_newton__of_a_tensor_that_a_later_stage_takes__is_that_of_the_result(run: Callable[..., Arrays]) -> None:
    inputs = {"x": [1, 2, 3, 4], "gain": 1, "wanted": [1, 2], "bins": [0, 0], "tangent.gain": 1}
    found = run("collected", RunMode.JTJVP, {k: np.float32(v) for k, v in inputs.items()})
    assert found["grad.gain"] == 72 * 72
