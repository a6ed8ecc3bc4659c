"""Samples that know the manifest alone, for WebGPU and slangpy, compute what the ``cpu`` device does."""

from __future__ import annotations

import importlib.util
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.devices import device_of

import slangad as sa
from slangad.cli.main import cli
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.device.slangpy_device import opened_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    import wgpu

    Launch = Callable[..., dict[str, np.ndarray[Any, Any]]]

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
N, EXTENT = 3000, 9


def _module(name: str) -> ModuleType:
    """Return a sample as a module."""
    spec = importlib.util.spec_from_file_location(f"launch_{name}", ROOT / f"samples/{name}/launch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sample(wgpu_device: wgpu.GPUDevice) -> ModuleType:
    """The sample for WebGPU."""
    return _module("webgpu")


@pytest.fixture(params=["webgpu", "slangpy"])
def launch(request: pytest.FixtureRequest) -> Iterator[Launch]:
    """Launch a kernel by a manifest alone: path, kernel, mode, arrays, domain, extents."""
    if request.param == "webgpu":
        yield request.getfixturevalue("sample").launch
        return
    device_of("vulkan")  # or skip
    import slangpy

    device = opened_apart(partial(slangpy.create_device, type=slangpy.DeviceType.vulkan))
    program = _module("slangpy").Program
    yield lambda path, *words: program(path, device).launch(*words)
    device.close()


def _arrays() -> dict[str, tuple[dict[str, Any], tuple[int, ...], dict[str, tuple[int, ...]]]]:
    """Return arrays, domain and extents for kernels of memories.py."""
    rng = np.random.default_rng(0)

    def some(*shape: int) -> np.ndarray[Any, Any]:
        return rng.uniform(0.1, 1.0, shape).astype("f4")

    index = rng.integers(0, EXTENT, N).astype("i4")
    return {
        "sums": ({"x": some(N), "p.slope": some(), "p.bias": some(3)}, (N,), {}),
        "plane": ({"x": some(61, 83), "p": some()}, (61, 83), {}),
        "collide": ({"i": index, "g": some(N), "w": some(EXTENT, 3)}, (N,), {"w": (EXTENT,)}),
        "gather": ({"i": index, "w": some(EXTENT)}, (N,), {"w": (EXTENT,)}),
        "in_place": ({"v": some(N), "g": some(N)}, (N,), {"v": (N,)}),
    }


def test_launch__kernels_of_all_memories__equal_the_cpu_device(launch: Launch, tmp_path: Path) -> None:
    path = ROOT / "tests/devices/memories.py"
    program = sa.load(str(path), device="cpu")
    cases = _arrays()
    words = [f"{path}:{name}" for name in cases]
    targets = ("-t", "wgsl", "-o", str(tmp_path), "--mode", "backward", "--mode", "forward")
    ended = CliRunner().invoke(cli, ["compile", *words, *targets])
    assert ended.exit_code == 0, ended.output
    compared = 0
    for name, (arrays, domain, extents) in cases.items():
        for mode in (RunMode.FORWARD, RunMode.BACKWARD):
            expected = program[name].run(mode, arrays, domain=domain)
            found = launch(tmp_path / "manifest.json", name, mode.value, arrays, domain, extents)
            for key, array in expected.arrays.items():
                wanted = np.asarray(array).reshape(-1)
                if key in found:
                    assert np.any(wanted)
                    np.testing.assert_allclose(found[key], wanted, rtol=1e-4, atol=1e-5, err_msg=f"{name} {key}")
                    compared += 1
    assert compared >= 12


def test_launch__training_steps__equal_those_of_the_cpu_device(launch: Launch, tmp_path: Path) -> None:
    path = ROOT / "samples/quickstart/brdf.py"
    ended = CliRunner().invoke(cli, ["compile", str(path), "-t", "wgsl", "-o", str(tmp_path), "--mode", "backward"])
    assert ended.exit_code == 0, ended.output
    kernel = sa.load(str(path), device="cpu")["fit"]
    (record,) = json.loads((tmp_path / "manifest.json").read_text())["inputs"][0]["kernels"]
    (mode,) = record["modes"]
    given = {b["key"]: b for b in mode["buffers"] if b["role"] == "input"}
    rng, domain = np.random.default_rng(2), 500
    arrays = {
        key: rng.uniform(0.2, 0.8, (*[domain] * ("domain" in b["scalars"]), *[b["components"]] * (b["components"] > 1)))
        for key, b in given.items()
    }
    uniforms = [p for p in record["entry_points"][0]["parameters"] if p["role"] == "uniform"]
    arrays |= {p["parameter"]: rng.uniform(0.2, 0.8, p["shape"]) for p in uniforms}
    ours, theirs = ({key: np.array(array, "f4") for key, array in arrays.items()} for _ in range(2))
    for _ in range(3):
        found = launch(tmp_path / "manifest.json", "fit", "backward", ours, (domain,))
        wanted = kernel.run(RunMode.BACKWARD, theirs, domain=(domain,)).arrays
        trained = [key for key in ours if f"grad.{key}" in wanted]
        assert trained
        for key in trained:
            ours[key] -= np.float32(0.05) * found[f"grad.{key}"].reshape(ours[key].shape)
            theirs[key] -= np.float32(0.05) * np.asarray(wanted[f"grad.{key}"]).reshape(theirs[key].shape)
            np.testing.assert_allclose(ours[key], theirs[key], rtol=1e-4, atol=1e-6)


def test_launch__uniform_structs_and_matrices__equal_the_cpu_device(
    sample: ModuleType,
    tmp_path: Path,
) -> None:
    path = ROOT / "tests/devices/uniforms.py"
    ended = CliRunner().invoke(cli, ["compile", f"{path}:stacked", "-t", "wgsl", "-o", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    rng = np.random.default_rng(1)
    arrays = {"x": rng.uniform(0.1, 1.0, 100).astype("f4"), "t": rng.uniform(0.1, 1.0, (2, 2, 3)).astype("f4")}
    expected = sa.load(str(path), device="cpu")["stacked"].run(RunMode.FORWARD, arrays)
    found = sample.launch(tmp_path / "manifest.json", "stacked", "forward", arrays, (100,))
    np.testing.assert_allclose(found["result"], expected.arrays["result"], rtol=1e-5)


def test_launch__packed_buffers__need_no_more_than_every_device_has(sample: ModuleType, tmp_path: Path) -> None:
    path = ROOT / "samples/quickstart/brdf.py"
    ended = CliRunner().invoke(cli, ["compile", str(path), "-t", "wgsl", "-o", str(tmp_path), "--pack-buffers"])
    assert ended.exit_code == 0, ended.output
    assert "SA427" not in ended.output
    (record,) = json.loads((tmp_path / "manifest.json").read_text())["inputs"][0]["kernels"]
    used = [artefact["storage_buffers"] for entry in record["entry_points"] for artefact in entry["artefacts"]]
    assert used == [2, 4, 3]
    rng, domain = np.random.default_rng(3), 333
    kernel = sa.load(str(path), device="cpu")["fit"]
    for mode in record["modes"]:
        given = (b for b in mode["buffers"] if b["role"] in ("input", "tangent", "cotangent"))
        shapes = {b["key"]: (domain, *[3] * (b["components"] == 3)) for b in given}
        arrays = {key: rng.uniform(0.2, 0.8, shape).astype("f4") for key, shape in shapes.items()}
        arrays["exposure"] = np.float32(0.7)
        found = sample.launch(tmp_path / "manifest.json", "fit", mode["mode"], arrays, (domain,))
        wanted = kernel.run(RunMode(mode["mode"]), arrays, domain=(domain,)).arrays
        compared = [key for key in wanted if key in found]
        assert compared
        for key in compared:
            np.testing.assert_allclose(found[key], np.ravel(wanted[key]), rtol=2e-4, atol=1e-5, err_msg=key)


def test_webgpu_sample__as_a_program__takes_extents_from_the_arrays_and_writes_all_buffers(
    sample: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve, folder = ROOT / "samples/curve/curve.py", tmp_path / "build"
    ended = CliRunner().invoke(cli, ["compile", str(curve), "-t", "wgsl", "--mode", "backward", "-o", str(folder)])
    assert ended.exit_code == 0, ended.output
    at = np.linspace(0, 1, N, dtype="f4")
    arrays = {"at": at, "seen": at**2, "knots": np.full(EXTENT, 0.5, "f4"), "gain": np.float32(2.0)}
    np.savez(tmp_path / "in.npz", **arrays)
    words = [str(folder / "manifest.json"), "fit", "backward", str(tmp_path / "in.npz"), str(N)]
    monkeypatch.setattr("sys.argv", ["launch.py", *words, "-o", str(tmp_path / "out.npz")])
    given = sample.arguments()
    record = sample.kernel_of(given.manifest, given.kernel)
    with np.load(given.inputs) as inputs:
        loaded = dict(inputs)
    found = sample.launch(
        given.manifest, given.kernel, given.mode, loaded, given.domain, sample.extents_of(record, loaded)
    )
    sample.finish(found, given.output)
    expected = sa.load(str(curve), device="cpu").fit.backward(**arrays)
    with np.load(tmp_path / "out.npz") as written:
        np.testing.assert_allclose(written["grad.knots"], expected["grad.knots"], rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(written["result"], [expected.result], rtol=2e-5)
