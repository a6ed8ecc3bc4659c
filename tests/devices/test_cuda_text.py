"""What NVIDIA's compiler makes of CUDA text computes what the kernel means. No GPU: see ``support.ptx``."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from support.array_loops import COLUMNS, HEAD, ROWS, SIZE, exact, made
from support.devices import near_all
from support.ptx import launched

from slangad.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.toolchain

ELEMENTS = 2
N = np.array([0, 4], np.int32)
LAID_OVER = ((110, "forward"), (37, "jvp"))
"""Kernels of which nvcc 13.0 makes wrong code (docs/slang-notes.md). Right code fails here: then the notes are old."""


@pytest.mark.parametrize(
    ("number", "mode"),
    [*((0, mode) for mode in ("forward", "backward", "jvp")), (3, "backward"), *LAID_OVER],
)
def test_cuda_text__compiled_by_nvcc__computes_the_kernel(
    number: int, mode: str, tool: Callable[[str], str], tmp_path: Path
) -> None:
    nvcc, loop = tool("nvcc"), made(number)
    (tmp_path / "a.py").write_text(HEAD + loop.kernel(), encoding="utf-8")
    words = ["compile", str(tmp_path / "a.py"), "-t", "cuda", "--mode", mode, "-o", str(tmp_path)]
    assert CliRunner().invoke(cli, words, prog_name="slangad").exit_code == 0
    text, ptx, entry = tmp_path / f"a.{loop.name}.{mode}.cu", tmp_path / "a.ptx", f"{loop.name}_{mode}"
    subprocess.run([nvcc, "-w", "-arch=sm_80", "-ptx", str(text), "-o", str(ptx)], check=True, capture_output=True)

    random = np.random.default_rng(5)
    sizes = {"x": (ELEMENTS, SIZE), "y": (ELEMENTS, ROWS, COLUMNS), "u": (ELEMENTS,)}
    floats = {key: random.uniform(-1, 1, size).astype(np.float32) for key, size in sizes.items()}
    tangents = {key: np.cos(np.arange(v.size, dtype=np.float32)).reshape(v.shape) for key, v in floats.items()}
    found = [exact(loop, [v[e] for v in floats.values()], int(N[e])) for e in range(ELEMENTS)]
    gradients = {key: np.array([all_[k] for _, all_, _ in found]) for k, key in enumerate(floats)}
    change = sum((gradients[key] * tangents[key]).reshape(ELEMENTS, -1).sum(1) for key in floats)
    wanted = {
        "forward": {"result": np.array([value for value, _, _ in found])},
        "backward": {f"{key}_grad": gradient for key, gradient in gradients.items()},
        "jvp": {"result_tangent": change},
    }[mode]
    given = {**floats, "n": N, "result_cotangent": np.ones(ELEMENTS, np.float32)}
    given |= {f"{key}_tangent": tangent for key, tangent in tangents.items()}
    shapes = {key: np.shape(value) for key, value in wanted.items()}
    if mode != "backward":
        shapes["result"] = (ELEMENTS,)
    stored = launched(ptx, text, entry, ELEMENTS, given, shapes)
    wrong = [key for key, value in wanted.items() if not near_all(stored[key], value, 0.1)]
    assert bool(wrong) == ((number, mode) in LAID_OVER), f"{wrong}: {stored} in place of {wanted}"
