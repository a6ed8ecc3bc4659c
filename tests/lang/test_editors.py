"""Type checkers accept every sample, every template, and every program that a page of the documentation shows."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from slangad.compiler.lang.types import swizzles

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted([*(ROOT / "samples").rglob("*.py"), *(ROOT / "templates").rglob("*.py")])
LEFT_OUT = {"language": "a local variable that starts as an int and becomes a float, as the language allows"}
"""Pages whose programs a type checker refuses, with the reason."""
TYPED = """
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

import slangad as sa
from slangad import Array, Each, Param, Tensor, Texture2D, float2, float2x2, float3, float4

SIZE = 2
Weights = Annotated[Sequence[float], Array[float, 2 * SIZE]]
Picture = Annotated[Any, Texture2D[float3, "repeat"]]


@sa.struct
class Motion:
    turn: float3
    stretch: float2x2
    shift: float3 = float3(0.0)


@sa.differentiable
def first(w: Weights, m: Motion) -> float:
    return w[0] * m.turn.x


@sa.kernel
def cost(i: Each[int], t: Annotated[Sequence[float3], Tensor[float3, 1]], m: Param[Motion]) -> Each[float3]:
    return t[i]


@sa.differentiable
def looked_up(image: Picture, uv: float2) -> float:
    texel: float3 = image.sample(uv)
    return texel.x


@sa.differentiable
def project(p: float3) -> float2:
    q = float3(p)
    q.bgr = p.zyx
    return q.xy / q.z


x = np.zeros(6, np.float32)
m = Motion(x[:3], np.eye(2), x[3:])
m.turn = [1.0, 2.0, 3.0]
turn: float3 = m.turn
m.stretch = [[1.0, 0.0], [0.0, 1.0]]
Motion(turn, float2x2(1.0))
turn.xzxz = float2(1.0)  # type: ignore[assignment]
Motion("abc", x)  # type: ignore[arg-type]
Motion(float4(1.0), x)  # type: ignore[arg-type]
"""
"""Elements, fields and swizzles that have a type; mypy also reports a comment that ignores nothing."""
WITH_PLUGIN = """
from typing import Literal, TypeAlias

import numpy as np

import slangad as sa
from slangad import Array, Each, InOutTensor, NoDiff, OutTensor, Param, Sum, Tensor, Texture2D, float2, float3

SIZE = 4
Four: TypeAlias = Array[float, SIZE]
Tiled: TypeAlias = Texture2D[float, "repeat"]


@sa.struct
class Look:
    curve: Array[float, SIZE * 2]
    pairs: Array[Array[float, 2], 3]


@sa.differentiable
def entry(w: Array[float, SIZE * 2], a: Four, k: int) -> float:
    w[0].x  # type: ignore[attr-defined]
    return w[k] * a[0]


@sa.differentiable
def last(look: Look) -> float:
    for x in look.curve:
        total = x
    return total + look.pairs[2][0]


@sa.kernel(dims=2)
def sampled(
    t: NoDiff[Tensor[float3, 2]],
    image: Texture2D[float3, Literal["repeat"]],
    mirrored: NoDiff[sa.Texture2D[float2, "mirror", "nearest"]],
    tiled: Tiled,
    out: OutTensor[float3, 1],
    total: InOutTensor[float, 1],
    p: Param[Array[float, 3]],
) -> Sum[float]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    out[i] += t[i, j] * p[0]
    out[0] = 1.0  # type: ignore[assignment]
    total[i] += image.load(i, j).y
    tiled.load(i, j).x  # type: ignore[attr-defined]
    local: Texture2D[float3, "repeat"] = image
    return local.sample(t[i, j].xy / float2(image.size)).x + mirrored.load(i, j).y + tiled.load(i, j)


@sa.kernel
def copied(t: Tensor[float3, 2], i: Each[int]) -> Each[float3]:
    return t[i, 0]


Look(np.zeros(8), [[1.0, 2.0]])
"""
"""Elements that have a type with the plugin of mypy."""
PROGRAM = re.compile(r"^`(\w+)\.py`[^`\n]*:\n\n?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the programs of the pages and the notebook, a folder for each page; they import each other there."""
    folder = tmp_path_factory.mktemp("pages")
    count = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if page.stem in LEFT_OUT:
            continue
        files = dict(PROGRAM.findall(page.read_text(encoding="utf-8")))
        home = folder / re.sub(r"\W", "_", page.stem)
        for name, text in files.items():
            home.mkdir(exist_ok=True)
            beside = re.compile(rf"^from ({'|'.join(files)}) import", re.MULTILINE)
            (home / f"{name}.py").write_text(beside.sub(rf"from {home.name}.\1 import", text), encoding="utf-8")
            count += 1
    assert count > 20
    (folder / "typed.py").write_text(TYPED, encoding="utf-8")
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (folder / "notebook.py").write_text("\n\n".join(code), encoding="utf-8")
    return folder


def test_swizzles__typed_names__are_all_names_of_two_to_four_letters() -> None:
    names = re.findall(
        r"\b(\w+) =(?= |$)",
        Path(swizzles.__file__).read_text(encoding="utf-8").partition("    __slots__ = ()")[2],
        re.MULTILINE,
    )
    expected = [
        "".join(p) for n in (2, 3, 4) for letters in ("xyzw", "rgba") for p in itertools.product(letters, repeat=n)
    ]
    assert names[: len(expected)] == expected


def test_mypy__strict_on_samples_and_pages__finds_nothing(programs: Path) -> None:
    pytest.importorskip("mypy")
    # CI runs mypy before the tests: the same settings, from the same folder, find its cache
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, SAMPLES), str(programs)],
        capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, "MYPYPATH": str(programs)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_plugin__elements_of_arrays_tensors_and_textures__have_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(WITH_PLUGIN, encoding="utf-8")
    settings = """
        [mypy]
        strict = True
        plugins = slangad.mypy_plugin
        [mypy-slangad.compiler.api.*,slangad.compiler.runtime.*,slangad.compiler.driver.*,slangad.compiler.nn]
        follow_imports = skip
        [mypy-numpy.*]
        follow_imports = skip
        [mypy-slangad.*]
        ignore_errors = True
    """  # the element types need no other modules, and mypy takes seconds for those
    (tmp_path / "mypy.ini").write_text(textwrap.dedent(settings), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "typed.py"],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff__words_of_textures_as_builtins__finds_no_unknown_name(tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    (tmp_path / "named.py").write_text(TYPED, encoding="utf-8")
    (tmp_path / "typed.py").write_text(WITH_PLUGIN, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", "named.py", "typed.py"]
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    setting = re.search(r"^builtins = .*$", page, re.MULTILINE)
    assert setting
    for config, codes in (([f"--config={setting[0]}"], 0), ([], 1)):
        done = subprocess.run([*command, *config], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == codes, done.stdout + done.stderr


def test_pyright__on_samples_and_pages__finds_nothing(programs: Path) -> None:
    pytest.importorskip("pyright", reason="pip install 'pyright[nodejs]'")
    settings = {
        "include": [".", *(os.path.relpath(ROOT / folder, programs) for folder in ("samples", "templates"))],
        "extraPaths": [str(ROOT)],
        "reportMissingImports": False,
        "reportMissingModuleSource": False,
    }
    (programs / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(programs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=programs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No source files found" not in done.stdout
