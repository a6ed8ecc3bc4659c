"""PTX that NVIDIA's compilers make of a kernel gives the kernel's results. No GPU: see ``support.ptx``."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from support.array_loops import COLUMNS, HEAD, ROWS, SIZE, derivatives, made, tangents_of
from support.devices import near_all
from support.ptx import launched

from slangad.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Compiled = Callable[[Path, str, str], Path]
    """Makes PTX of a file's kernel: the folder, its name, and the mode."""

pytestmark = pytest.mark.toolchain

N = np.array([0, 4, 7], np.int32)
SHAPES = {"x": (len(N), SIZE), "y": (len(N), ROWS, COLUMNS)}
APART = ("-Xcicc", "--Xopt -disable-reuse-local-memory")
"""What docs/cpp.md says to pass to nvcc."""
MODES = ("forward", "backward", "jvp")
WRONG = [(110, "forward"), (37, "jvp")]
"""Kernels of which nvcc 13.0 makes wrong code."""


def inputs() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    made_ = {key: random.uniform(-1, 1, shape).astype(np.float32) for key, shape in SHAPES.items()}
    return {**made_, "u": random.uniform(0.2, 0.9, len(N)).astype(np.float32)}


def described(target: str, folder: Path, mode: str) -> None:
    words = ["compile", str(folder / "a.py"), "-t", target, "--mode", mode, "-o", str(folder)]
    assert CliRunner().invoke(cli, words, prog_name="slangad").exit_code == 0


def by_nvcc(nvcc: str, options: tuple[str, ...], folder: Path, name: str, mode: str) -> Path:
    ptx = folder / "a.ptx"
    command = [nvcc, "-w", "-arch=sm_80", *options, "-ptx", str(folder / f"a.{name}.{mode}.cu"), "-o", str(ptx)]
    subprocess.run(command, check=True, capture_output=True)
    return ptx


def by_nvrtc(folder: Path, name: str, mode: str) -> Path:
    described("ptx", folder, mode)
    return folder / f"a.{name}.{mode}.ptx"


def results(folder: Path, number: int, mode: str, compiled: Compiled) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """What a mode of a kernel stores: the name, what it should be, and what it is."""
    loop, floats = made(number), inputs()
    exact = derivatives(loop, floats, N)
    wanted = {
        "forward": {"result": exact.values},
        "backward": {f"{key}_grad": gradient for key, gradient in exact.gradients.items()},
        "jvp": {"result": exact.values, "result_tangent": exact.change},
    }[mode]
    given = {**floats, "n": N, "result_cotangent": np.ones(len(N), np.float32)}
    given |= {f"{key}_tangent": tangent for key, tangent in tangents_of(floats).items()}
    (folder / "a.py").write_text(HEAD + loop.kernel(), encoding="utf-8")
    described("cuda", folder, mode)
    text, ptx = folder / f"a.{loop.name}.{mode}.cu", compiled(folder, loop.name, mode)
    shapes = {key: np.shape(value) for key, value in wanted.items()}
    stored = launched(ptx, text, f"{loop.name}_{mode}", len(N), given, shapes)
    return [(key, value, stored[key]) for key, value in wanted.items()]


@pytest.mark.parametrize(("number", "mode"), [*((0, mode) for mode in MODES), (3, "backward"), *WRONG])
def test_cuda_text__compiled_by_nvcc__computes_the_kernel(
    number: int, mode: str, tool: Callable[[str], str], tmp_path: Path
) -> None:
    for key, value, stored in results(tmp_path, number, mode, partial(by_nvcc, tool("nvcc"), APART)):
        assert near_all(stored, value, 0.1), f"{key}: {stored} in place of {value}"


@pytest.mark.parametrize(("number", "mode"), WRONG)
def test_ptx__of_nested_loops_over_arrays__computes_the_kernel(
    number: int, mode: str, nvrtc: object, tmp_path: Path
) -> None:
    for key, value, stored in results(tmp_path, number, mode, by_nvrtc):
        assert near_all(stored, value, 0.1), f"{key}: {stored} in place of {value}"


def test_cuda_text__of_which_nvcc_makes_wrong_code__is_wrong_as_on_a_gpu(
    tool: Callable[[str], str], tmp_path: Path
) -> None:
    """See docs/slang-notes.md, where it says how far an H200 was off. Right code fails here: then the notes are old."""
    version = subprocess.run([tool("nvcc"), "--version"], check=True, capture_output=True, text=True).stdout
    if "release 13.0" not in version:
        pytest.skip("the fault is known of nvcc 13.0")
    ((_, values, stored),) = results(tmp_path, 110, "forward", partial(by_nvcc, tool("nvcc"), ()))
    np.testing.assert_allclose(np.abs(stored - values), [1.42481497e-01, 1.57367595e-01, 2.21178729e-05], rtol=1e-4)
