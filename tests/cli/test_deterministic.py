"""``--deterministic`` from the command line and the project: what is emitted, said, run and trained."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.runtime.device.open import open_device

if TYPE_CHECKING:
    import subprocess

    from conftest import Project

pytestmark = pytest.mark.toolchain

SCATTERING: Final = Path(__file__).parents[1] / "devices" / "scattering.py"
KERNEL: Final = """
import slangad as sa
from slangad import Each, Param, Sum, Tensor

@sa.kernel
def fit(at: Each[int], x: Each[float], w: Tensor[float, 1], m: Param[float]) -> Sum[float]:
    return m * x * w[at]
"""
CANCELLING: Final = ("--set", "at=[0,0,0]", "--set", "g=[1e30,1,-1e30]", "--set", "w=[1]")
"""The exact sum is 1; that of floats, and of doubles, is 0."""


def run(project: Project, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return project.run(*words, code=code, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"])


@pytest.fixture
def vulkan() -> None:
    """Skips the test where there is no Vulkan device."""
    try:
        open_device("vulkan").close()
    except ToolchainError as error:
        if os.environ.get("SLANGAD_REQUIRE_TOOLCHAIN") == "1":
            raise
        pytest.skip(f"no Vulkan device: {error}")


def slang_of(project: Project, *words: str) -> str:
    run(project, "compile", "fit.py", "--emit", "slang", *words)
    return (project.folder / "build" / "fit.slang").read_text(encoding="utf-8")


def test_compile__with_and_without__remembers_both(project: Project) -> None:
    project.write("fit.py", KERNEL)
    for _ in range(2):
        added = "= sa.scatter_exactly(fit_w_totals, fit_w_copies * fit_w_extents,"
        assert added in slang_of(project, "--deterministic")
        assert "exact" not in slang_of(project)


def test_compile__verbose_and_manifest__tell_how_gradients_add_up(project: Project) -> None:
    project.write("fit.py", KERNEL)
    said = run(project, "-v", "compile", "fit.py", "--deterministic", "--emit", "slang").stderr
    assert "fit.w: exact (any element: sums without rounding" in said
    assert "fit.m: sum (" in said
    (kernel,) = project.manifest()["inputs"][0]["kernels"]
    assert kernel["accumulation"] == {"x": "store", "w": "exact", "m": "sum"}
    totals = [p for e in kernel["entry_points"] for p in e["parameters"] if p["role"] == "totals"]
    assert [(p["scalar"], p["shape"]) for p in totals] == [("uint", [34])] * 2


def test_project__says_deterministic__unless_the_command_line_does(project: Project) -> None:
    project.write("fit.py", KERNEL)
    project.write("pyproject.toml", "[tool.slangad]\ndeterministic = true\n")
    assert "scatter_exactly" in slang_of(project)
    assert "scatter_exactly" not in slang_of(project, "--no-deterministic")


@pytest.mark.usefixtures("vulkan")
def test_run__with_the_flag_or_the_project__adds_up_exactly(project: Project) -> None:
    words = ("run", f"{SCATTERING}:gather", "--mode", "backward", "--device", "vulkan", *CANCELLING, "-o", "out.npz")

    def gradient(*more: str) -> float:
        run(project, *words, *more)
        with np.load(project.folder / "out.npz") as arrays:
            return float(arrays["grad.w"][0])

    assert gradient("--deterministic") == 1.0
    assert gradient() == 0.0
    project.write("pyproject.toml", "[tool.slangad]\ndeterministic = true\n")
    assert gradient() == 1.0
    assert gradient("--no-deterministic") == 0.0


@pytest.mark.usefixtures("vulkan")
def test_train__twice_on_vulkan__gives_the_same_bits(project: Project) -> None:
    stream, count, size = np.random.default_rng(0), 1 << 18, 1 << 16
    at = stream.integers(0, 64, count).astype(np.int32) * 1024
    w, target = stream.uniform(0.5, 1.5, size).astype("f4"), stream.uniform(0, 1, count).astype("f4")
    np.savez(project.folder / "data.npz", at=at, w=w, target=target)
    for name in ("first", "second"):
        run(
            project, "train", f"{SCATTERING}:fitted", "-i", "data.npz", "--device", "vulkan", "--steps", "12",
            "--deterministic", "-o", f"{name}.npz", "--loss", f"{name}.json",
        )  # fmt: skip
    losses = [(project.folder / f"{name}.json").read_bytes() for name in ("first", "second")]
    trained = [dict(np.load(project.folder / f"{name}.npz")) for name in ("first", "second")]
    assert losses[0] == losses[1]
    assert trained[0]["w"].tobytes() == trained[1]["w"].tobytes()
    assert not np.array_equal(trained[0]["w"], w)


BESIDE_SHARED: Final = """
import slangad as sa
from slangad import Each

@sa.kernel(group_size=(4,))
def total(x: Each[float]) -> Each[float]:
    return sa.group_sum(x * x) * x

@sa.kernel(group_size=(4,))
def first(x: Each[float]) -> Each[float]:
    row = sa.Shared[float, 4]()
    row[sa.thread_id() % 4] = x * x
    sa.barrier()
    return row[0] * x
"""
REFUSED: Final = "shade.py:11:11: error[SA309]: the gradient of 'row' is added up in any order"


def test_shared_memory_of_another_kernel__compile__is_not_refused(project: Project) -> None:
    project.write("shade.py", BESIDE_SHARED)
    for _ in range(2):  # the second one finds the description in the cache
        run(project, "compile", "shade.py:total", "--deterministic", "--emit", "slang")
        run(project, "compile", "shade.py:first", "--deterministic", "--mode", "forward")
        for word in ("shade.py:first", "shade.py"):
            for more in ((), ("--plan", "ninja"), ("-o", "-")):
                failed = run(project, "compile", word, "--deterministic", *more, code=1)
                assert failed.stderr.count(REFUSED) == 1


def test_shared_memory_of_another_kernel__run__is_not_refused(project: Project) -> None:
    project.write("shade.py", BESIDE_SHARED)
    words = ("--mode", "backward", "--deterministic", "--device", "cpu", "--set", "x=[1,2,3,4]", "-o", "o.npz")
    run(project, "run", "shade.py:total", *words)
    with np.load(project.folder / "o.npz") as arrays:
        np.testing.assert_allclose(arrays["grad.x"], 30 + 2 * 10 * np.arange(1.0, 5))
    assert REFUSED in run(project, "run", "shade.py:first", *words, code=1).stderr


def test_shared_memory_of_another_kernel__load__is_not_refused(project: Project) -> None:
    loaded = sa.load(project.write("shade.py", BESIDE_SHARED), device="cpu", deterministic=True)
    x = np.arange(1.0, 5, dtype=np.float32)
    np.testing.assert_allclose(loaded.total.backward(x).grad.x, 30 + 2 * 10 * x)
    np.testing.assert_allclose(loaded.first(x), x)
    with pytest.raises(CompileError, match="SA309"):
        loaded.first.backward(x)
