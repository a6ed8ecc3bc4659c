"""Programs for Vulkan, CUDA and browsers, with the header or the manifest alone, train as the ``cpu`` device does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.browser import NAMES, browser
from support.devices import device_of

import slangad as sa
from slangad.cli.main import cli
from slangad.compiler.runtime.arrays.modes import RunMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.toolchain

SAMPLES = Path(__file__).parents[2] / "samples"
CURVE = SAMPLES / "curve/curve.py"
POINTS, KNOTS, RATE, STEPS = 1000, 6, np.float32(0.5), 300
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Werror")
WEBGPU = ("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")
"""Chromium's WebGPU without a GPU."""


def _compile(folder: Path, target: str, *emit: str, flags: tuple[str, ...] = ()) -> None:
    words = [*flags, *(word for kind in emit for word in ("--emit", kind))]
    ended = CliRunner().invoke(cli, ["compile", str(CURVE), "-t", target, "-o", str(folder), *words])
    assert ended.exit_code == 0, ended.output


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    """What the programs print: the results of forward and backward, and where some steps of descent end."""
    kernel = sa.load(str(CURVE), device="cpu").fit
    at = (np.arange(POINTS, dtype="f4") + np.float32(0.5)) / np.float32(POINTS)
    arrays: dict[str, Any] = {"at": at, "seen": at * at, "knots": np.full(KNOTS, 0.5, "f4"), "gain": np.float32(1)}
    seen: dict[str, Any] = {"forward": kernel.run(RunMode.FORWARD, arrays)["result"]}
    for step in range(STEPS + 1):
        found = kernel.run(RunMode.BACKWARD, arrays)
        if step == 0:
            seen |= {key: found[key] for key in ("result", "grad.gain", "grad.knots")}
        if step == STEPS:
            return seen | {"trained": found["result"], "gain": arrays["gain"], "knots": arrays["knots"]}
        arrays |= {name: arrays[name] - RATE * np.asarray(found[f"grad.{name}"]) for name in ("gain", "knots")}
    raise AssertionError


def _assert_equal(printed: str, expected: dict[str, Any]) -> None:
    found = {name: numbers.split() for name, _, numbers in (line.partition(" ") for line in printed.splitlines())}
    assert found.keys() == expected.keys(), printed
    for name, values in expected.items():
        np.testing.assert_allclose(np.array(found[name], "f8"), np.ravel(values), rtol=2e-5, atol=1e-6, err_msg=name)


def test_vulkan__program_with_the_header__trains_as_the_cpu_device(
    tmp_path: Path, tool: Callable[[str], str], trained: dict[str, Any]
) -> None:
    device_of("vulkan")  # or skip
    _compile(tmp_path, "spirv", "header", "artefacts")
    sources = (f"-I{tmp_path}", str(SAMPLES / "vulkan/main.cpp"), "-o", str(tmp_path / "train"), "-lvulkan")
    built = subprocess.run([tool("g++"), *STRICT, *sources], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    made, shown = tmp_path / "made.svg", SAMPLES / "vulkan/vulkan.svg"
    ran = subprocess.run([tmp_path / "train", tmp_path, str(STEPS), made], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    _assert_equal(ran.stdout, trained)
    lines, expected = (
        re.findall(r'points="([^"]*)"', picture.read_text(encoding="utf-8")) for picture in (made, shown)
    )
    assert len(lines) == len(expected) == 4
    for line, drawn in zip(lines, expected, strict=True):
        pixels, wanted = (np.array(re.findall(r"[\d.]+", part), "f8") for part in (line, drawn))
        np.testing.assert_allclose(pixels, wanted, atol=1.0)  # another driver rounds otherwise


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of the sample's page with the compiled kernel; pages of files can't fetch."""
    shutil.copytree(SAMPLES / "browser", tmp_path / "site")
    _compile(tmp_path / "site/build", "wgsl", "artefacts", flags=("--pack-buffers",))

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=tmp_path / "site")) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_browser__page_with_the_manifest__trains_as_the_cpu_device(
    tmp_path: Path, site: str, tool: Callable[[str], str], trained: dict[str, Any]
) -> None:
    program = next(filter(None, map(shutil.which, NAMES)), None) or tool(NAMES[0])
    with browser(program, tmp_path / "profile", WEBGPU) as tab:
        tab.open(f"{site}/index.html?steps={STEPS}")
        tab.ask("document.querySelector('button').click()")
        _assert_equal(tab.ask("window.trained"), trained)
        heights = tab.ask("[...document.querySelector('#loss').points].map((point) => point.y)")
        assert len(heights) == STEPS + 1
        assert heights[-1] > heights[0] + 10, "the curve of the loss doesn't fall"
        assert tab.ask("document.querySelector('output').textContent").startswith(f"step {STEPS} of {STEPS}, loss ")


def test_cuda__program_and_code__have_the_arguments_of_the_header(tmp_path: Path, tool: Callable[[str], str]) -> None:
    nvcc = tool("nvcc")
    _compile(tmp_path, "cuda", "header", "artefacts")
    main = (f"-I{tmp_path}", str(SAMPLES / "cuda/main.cpp"), "-o", str(tmp_path / "main.o"))
    strict = ("-std=c++17", "-Xcompiler", ",".join(STRICT[1:]))
    code = ("-w", "-ptx", "-arch=sm_80", str(tmp_path / "curve.fit.backward.cu"), "-o", str(tmp_path / "k.ptx"))
    for words in (("-x", "c++", "-c", *strict, *main), code):
        built = subprocess.run([nvcc, *words], capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr[-3000:]
    ptx = (tmp_path / "k.ptx").read_text(encoding="utf-8")
    entries = json.loads((tmp_path / "manifest.json").read_text())["inputs"][0]["kernels"][0]["entry_points"]
    (artefact,) = next(entry["artefacts"] for entry in entries if entry["name"] == "fit_backward")
    blocks = {block["scope"]: block for block in artefact["blocks"]}
    assert f"SLANG_globalParams[{blocks['module']['size']}]" in ptx
    parameters = re.search(r"\.entry fit_backward\((.*?)\)", ptx, re.DOTALL)
    assert parameters is not None
    sizes = [int(size or 4) for size in re.findall(r"\.param .*?_param_\d+(?:\[(\d+)\])?", parameters[1])]
    ends = [member["offset"] for member in blocks["entry_point"]["members"][1:]] + [blocks["entry_point"]["size"]]
    at = 0
    for size, end in zip(sizes, ends, strict=True):
        at += size
        at = -(-at // 8) * 8 if at < end else at
        assert at == end
