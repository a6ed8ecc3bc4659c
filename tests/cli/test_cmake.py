"""CMake and Meson build ``samples/cpp``, rebuild only what changed, and the program trains as Python does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.toolchain

SAMPLES = Path(__file__).parents[2] / "samples"
POINTS, RATE, STEPS = 4096, np.float32(0.1), 20


def _numbers(count: int, seed: int, scale: float) -> np.ndarray:
    """Return the numbers that main.cpp makes."""
    values = np.zeros(count, "f4")
    for index in range(count):
        seed = (seed * 1664525 + 1013904223) % (1 << 32)
        values[index] = np.float32(scale) * (np.float32(seed >> 8) / np.float32(8388608) - np.float32(1))
    return values


def _trained(file: Path) -> list[tuple[float, float]]:
    """Return the loss and the first slope, before the first and after the last step."""
    kernel = sa.load(str(file), device="cpu").loss
    at = _numbers(2 * POINTS, 1, 0.5).reshape(POINTS, 2) + np.float32(0.5)
    net = {
        "hidden": {"weights": _numbers(64, 2, 0.5), "biases": _numbers(16, 3, 0.1)},
        "output": {"weights": _numbers(64, 4, 0.25), "biases": _numbers(4, 5, 0.1)},
    }
    seen = []
    for _ in range(STEPS + 1):
        found = kernel.backward(at=at, net=net)
        seen.append((float(found["result"]), float(found["grad.net.hidden.weights"][0])))
        for name, layer in net.items():
            for part in layer:
                layer[part] = layer[part] - RATE * found[f"grad.net.{name}.{part}"]
    return [seen[0], seen[-1]]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Runs a command in a folder with the samples, whose name has a space, with ``slangad`` on the path."""
    folder, programs = tmp_path / "a ü folder", tmp_path / "programs"
    programs.mkdir()
    (programs / "slangad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slangad.cli "$@"\n', encoding="utf-8")
    (programs / "slangad").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for name in ("cpp", "mlp", "meson"):
        shutil.copytree(SAMPLES / name, folder / name)

    def run(*command: str) -> str:
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
        return ended.stdout

    return run


def _assert_trained(printed: str, file: Path) -> list[float]:
    """Compare what a program prints with what Python computes; return the first and the last loss."""
    numbers = re.findall(r"loss (\S+), slope of the first weight (\S+)", printed)
    np.testing.assert_allclose(np.array(numbers, "f8"), _trained(file), rtol=1e-4)
    return [float(loss) for loss, _ in numbers]


def _drawn(picture: Path, step: int) -> float:
    """Return the loss that a program of the sample has drawn for a step."""
    text = picture.read_text(encoding="utf-8")
    low, high = (np.log10(float(tick)) for tick in re.findall(r'text-anchor="end">([^<]+)<', text))
    points = re.findall(r"[\d.]+,([\d.]+) ", text)
    return float(10 ** (high - (float(points[step]) - 40.0) / 220.0 * (high - low)))


def test_meson__sample_in_a_folder_with_spaces__builds_trains_checks_and_rebuilds_nothing(
    tmp_path: Path, tool: Callable[[str], str], run: Callable[..., str]
) -> None:
    folder = tmp_path / "a ü folder"
    run(tool("meson"), "setup", "build", "meson")
    run("meson", "compile", "-C", "build")
    losses = _assert_trained(run("build/train", str(STEPS), "made.svg"), folder / "mlp/mlp.py")
    for picture in (folder / "made.svg", SAMPLES / "meson/meson.svg"):
        assert [_drawn(picture, 0), _drawn(picture, STEPS)] == pytest.approx(losses, rel=0.01)
    assert any((folder / "build").glob("*.spv"))
    assert "no work to do" in run("ninja", "-C", "build")
    written = (folder / "build/mlp.slangad.cpp").stat().st_mtime_ns
    text = (folder / "mlp/mlp.py").read_text(encoding="utf-8").replace("HalfNetwork = ", "# ")
    (folder / "mlp/mlp.py").write_text(text[: text.index("@sa.kernel\ndef half_loss")], encoding="utf-8")
    run("meson", "compile", "-C", "build")
    assert (folder / "build/mlp.slangad.cpp").stat().st_mtime_ns > written
    assert re.search(r"^Ok: +1", run("meson", "test", "-C", "build"), re.MULTILINE)


def test_cmake__sample_in_a_folder_with_spaces__builds_trains_and_rebuilds_nothing(
    tmp_path: Path, tool: Callable[[str], str], run: Callable[..., str]
) -> None:
    folder = tmp_path / "a ü folder"
    run(tool("cmake"), "-S", "cpp", "-B", "build", "-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles")
    run("cmake", "--build", "build")
    losses = _assert_trained(run("build/train", str(STEPS), "made.svg"), folder / "mlp/mlp.py")
    for picture in (folder / "made.svg", SAMPLES / "cpp/cpp.svg"):
        assert [_drawn(picture, 0), _drawn(picture, STEPS)] == pytest.approx(losses, rel=0.01)
    assert {path.suffix for path in (folder / "build/shaders").iterdir()} >= {".spv", ".wgsl", ".hpp", ".slang"}
    again = run("cmake", "--build", "build")
    assert "slangad" not in again
    (folder / "mlp/mlp.py").touch()
    again = run("cmake", "--build", "build")
    assert again.count("slangad ../mlp/mlp.py") == 2
    if shutil.which("ninja"):
        assert "Building" not in again  # the text is the same


LISTS = """
cmake_minimum_required(VERSION 3.20)
project(two CXX)
enable_testing()
execute_process(COMMAND slangad cmake-dir OUTPUT_VARIABLE Slangad_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(Slangad REQUIRED)
slangad_add_library(kernels INPUTS {inputs} OPTIONS --mode forward)
slangad_add_shaders(shaders INPUTS {inputs} TARGETS spirv CHECK OPTIONS --mode forward)
add_executable(two main.cpp)
target_link_libraries(two PRIVATE kernels)
add_executable(launches launches.cpp)
target_link_libraries(launches PRIVATE shaders)
"""
LAUNCHES = """#include "one.slangad.hpp"
#include "two 2.slangad.hpp"

#include <cstdio>

int main()
{
    std::printf("%s ", slangad::from_one::fit::forward_launches[0].artefact("spirv").file);
    std::printf("%s", slangad::from_two_2::fit::forward_launches[0].artefact("spirv").file);
}
"""
TWO = """#include "one.slangad.hpp"
#include "two 2.slangad.hpp"

#include <cstdio>

template <class Inputs, class Results, class Run>
float of(float x, Run run)
{
    std::vector<float> given = {x}, found(1);
    Inputs inputs;
    inputs.x = given;
    Results results;
    results.result = found;
    run(inputs, results, std::array<std::uint32_t, 1>{1}, 1);
    return found[0];
}

int main()
{
    namespace one = slangad::from_one::fit;
    namespace two = slangad::from_two_2::fit;
    std::printf("%g ", of<one::Inputs, one::Results>(2, one::forward));
    std::printf("%g", of<two::Inputs, two::Results>(2, two::forward));
}
"""
FIT = """import slangad as sa
from shapes import curve


@sa.kernel
def fit(x: sa.Each[float]) -> sa.Each[float]:
    return FACTOR * curve(x)
"""
CURVE = "import slangad as sa\n\n\n@sa.differentiable\ndef curve(x: float) -> float:\n    return FACTOR * x\n"


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_cmake__two_inputs_with_kernels_of_one_name__touch_edit_and_check(
    tmp_path: Path, tool: Callable[[str], str], run: Callable[..., str], generator: str
) -> None:
    tool("ninja" if generator == "Ninja" else "make")
    folder = tmp_path / "a ü folder/two ö"
    for name, factor in (("one", "3.0"), ("two 2", "5.0"), ("other/one", "7.0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(FIT.replace("FACTOR", factor), encoding="utf-8")
    (folder / "shapes.py").write_text(CURVE.replace("FACTOR", "1.0"), encoding="utf-8")
    (folder / "main.cpp").write_text(TWO, encoding="utf-8")
    (folder / "launches.cpp").write_text(LAUNCHES, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(LISTS.format(inputs='one.py "two 2.py"'), encoding="utf-8")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    run(tool("cmake"), "-S", "two ö", "-B", "build", "-G", generator)
    printed = run("cmake", "--build", "build", "-j", "2")
    assert printed.count("slangad one.py") == printed.count("slangad two 2.py") == 2
    assert run("build/two") == "6 10"
    assert run("build/launches") == "one.fit.forward.spv two 2.fit.forward.spv"
    assert "slangad one" not in run("cmake", "--build", "build")
    os.utime(folder / "shapes.py")
    again = run("cmake", "--build", "build")
    assert again.count("slangad one.py") == again.count("slangad two 2.py") == 2
    assert "Building" not in again  # the text is the same
    assert "slangad one" not in run("cmake", "--build", "build")
    (folder / "shapes.py").chmod(0o644)
    (folder / "shapes.py").write_text(CURVE.replace("FACTOR", "2.0"), encoding="utf-8")
    assert run("cmake", "--build", "build").count("Building") == 4
    assert run("build/two") == "12 20"
    assert "100% tests passed" in run("ctest", "--test-dir", "build")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)


def test_cmake__two_inputs_of_one_name__are_refused(
    tmp_path: Path, tool: Callable[[str], str], run: Callable[..., str]
) -> None:
    (tmp_path / "a ü folder/CMakeLists.txt").write_text(LISTS.format(inputs="one.py other/one.py"), encoding="utf-8")
    with pytest.raises(AssertionError, match="kernels has two inputs called one"):
        run(tool("cmake"), "-S", ".", "-B", "build")
