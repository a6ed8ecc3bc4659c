"""PTX that nvcc makes of a kernel gives the kernel's results. No GPU: see ``support.ptx``."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from support.array_loops import COLUMNS, HEAD, ROWS, SIZE, ArrayLoop, derivatives, made, tangents_of
from support.devices import near_all
from support.ptx import launched

from slangad.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Launch = Callable[[ArrayLoop, str, dict[str, np.ndarray], dict[str, tuple[int, ...]]], dict[str, np.ndarray]]

pytestmark = pytest.mark.toolchain

N = np.array([0, 4, 7], np.int32)
SHAPES = {"x": (len(N), SIZE), "y": (len(N), ROWS, COLUMNS)}


def inputs() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    made_ = {key: random.uniform(-1, 1, shape).astype(np.float32) for key, shape in SHAPES.items()}
    return {**made_, "u": random.uniform(0.2, 0.9, len(N)).astype(np.float32)}


@pytest.fixture
def launch(tool: Callable[[str], str], tmp_path: Path) -> Launch:
    """Runs a mode of a kernel, compiled by nvcc."""
    nvcc = tool("nvcc")

    def run(
        loop: ArrayLoop, mode: str, given: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]
    ) -> dict[str, np.ndarray]:
        (tmp_path / "a.py").write_text(HEAD + loop.kernel(), encoding="utf-8")
        words = ["compile", str(tmp_path / "a.py"), "-t", "cuda", "--mode", mode, "-o", str(tmp_path)]
        assert CliRunner().invoke(cli, words, prog_name="slangad").exit_code == 0
        text, ptx = tmp_path / f"a.{loop.name}.{mode}.cu", tmp_path / "a.ptx"
        command = [nvcc, "-w", "-arch=sm_80", "-ptx", str(text), "-o", str(ptx)]
        subprocess.run(command, check=True, capture_output=True)
        return launched(ptx, text, f"{loop.name}_{mode}", len(N), {**given, "n": N}, shapes)

    return run


@pytest.mark.parametrize(("number", "mode"), [*((0, mode) for mode in ("forward", "backward", "jvp")), (3, "backward")])
def test_cuda_text__compiled_by_nvcc__computes_the_kernel(number: int, mode: str, launch: Launch) -> None:
    loop, floats = made(number), inputs()
    exact = derivatives(loop, floats, N)
    wanted = {
        "forward": {"result": exact.values},
        "backward": {f"{key}_grad": gradient for key, gradient in exact.gradients.items()},
        "jvp": {"result": exact.values, "result_tangent": exact.change},
    }[mode]
    given = {**floats, "result_cotangent": np.ones(len(N), np.float32)}
    given |= {f"{key}_tangent": tangent for key, tangent in tangents_of(floats).items()}
    stored = launch(loop, mode, given, {key: np.shape(value) for key, value in wanted.items()})
    for key, value in wanted.items():
        assert near_all(stored[key], value, 0.1), f"{key}: {stored[key]} in place of {value}"


def test_cuda_text__of_which_nvcc_makes_wrong_code__is_wrong_as_on_a_gpu(
    tool: Callable[[str], str], launch: Launch
) -> None:
    """See docs/slang-notes.md, where it says how far an H200 was off. Right code fails here: then the notes are old."""
    version = subprocess.run([tool("nvcc"), "--version"], check=True, capture_output=True, text=True).stdout
    if "release 13.0" not in version:
        pytest.skip("the fault is known of nvcc 13.0")
    loop, floats = made(110), inputs()
    values = derivatives(loop, floats, N).values
    off = np.abs(launch(loop, "forward", floats, {"result": (len(N),)})["result"] - values)
    np.testing.assert_allclose(off, [1.42481497e-01, 1.57367595e-01, 2.21178729e-05], rtol=1e-4)
