"""``samples/webgpu/launch.py``, which knows the manifest alone, computes what the ``cpu`` device does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import slangad as sa
from slangad.cli.main import cli
from slangad.compiler.runtime.arrays.modes import RunMode

if TYPE_CHECKING:
    from types import ModuleType

    import wgpu

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
N, EXTENT = 3000, 9


@pytest.fixture(scope="module")
def sample() -> ModuleType:
    """The sample as a module."""
    spec = importlib.util.spec_from_file_location("launch", ROOT / "samples/webgpu/launch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_launch__kernels_of_all_memories__equal_the_cpu_device(
    sample: ModuleType,
    wgpu_device: wgpu.GPUDevice,
    tmp_path: Path,
) -> None:
    path = ROOT / "tests/devices/memories.py"
    program = sa.load(str(path), device="cpu")
    cases = _arrays()
    words = [f"{path}:{name}" for name in cases]
    ended = CliRunner().invoke(cli, ["compile", *words, "-t", "wgsl", "-o", str(tmp_path), "--mode", "backward"])
    assert ended.exit_code == 0, ended.output
    compared = 0
    for name, (arrays, domain, extents) in cases.items():
        expected = program[name].run(RunMode.BACKWARD, arrays, domain=domain)
        found = sample.launch(tmp_path / "manifest.json", name, "backward", arrays, domain, extents)
        for key, array in expected.arrays.items():
            wanted = np.asarray(array).reshape(-1)
            if key in found:
                np.testing.assert_allclose(found[key], wanted, rtol=1e-4, atol=1e-5, err_msg=f"{name} {key}")
                compared += 1
    assert compared >= 8


def test_launch__uniform_structs_and_matrices__equal_the_cpu_device(
    sample: ModuleType,
    wgpu_device: wgpu.GPUDevice,
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
