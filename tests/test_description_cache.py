"""When the Slang of a description comes from the cache, and when it must not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.driver.compile import compile_inputs, describe
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.toolchain.cache import Cache

if TYPE_CHECKING:
    from slangad.compiler.driver.model import Description

LIBRARY = """import slangad as sa
GAIN = 2.0


@sa.differentiable
def curve(x: float) -> float:
    return GAIN * x
"""
KERNEL = """import slangad as sa
from slangad import Each
import lib


@sa.kernel
def fit(x: Each[float]) -> Each[float]:
    return lib.curve(x)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A description and the module it imports, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fit.py").write_text(KERNEL)
    (tmp_path / "lib.py").write_text(LIBRARY)
    return tmp_path


def _describe(folder: Path, **options: object) -> Description:
    cache = Cache(folder / "cache")
    (unit,) = describe([Input(Path("fit.py"))], replace(Options(cache=cache), **options))  # type: ignore[arg-type]  # test data
    return unit.description


def test_recall__unchanged_description__gives_the_same_without_running_it(folder: Path) -> None:
    first, second = _describe(folder), _describe(folder)
    assert (first.cached, second.cached) == (False, True)
    assert replace(second, cached=False, emitted=replace(second.emitted, mapped=first.emitted.mapped)) == first


@pytest.mark.parametrize("name", ["fit.py", "lib.py"])
def test_recall__changed_file__runs_it_anew(folder: Path, name: str) -> None:
    before = _describe(folder)
    path = folder / name
    path.write_text(path.read_text().replace("GAIN = 2.0", "GAIN = 3.0").replace("curve(x)\n", "curve(x) + 1.0\n"))
    after = _describe(folder)
    assert not after.cached
    assert after.emitted.text != before.emitted.text
    assert _describe(folder).cached


def test_recall__file_that_imports_would_find_first__runs_it_anew(folder: Path) -> None:
    _describe(folder)
    (folder / "lib").mkdir()
    (folder / "lib" / "__init__.py").write_text(LIBRARY.replace("2.0", "5.0"))
    after = _describe(folder)
    assert not after.cached
    assert "5.0" in after.emitted.text


@pytest.mark.parametrize(
    "impure",
    [
        "import os\nGAIN = float(os.environ.get('GAIN', '2'))",
        "import numpy\nGAIN = float(numpy.float32(2.0))",
        "with open('gain.txt') as file:\n    GAIN = float(file.read())",
        "GAIN = float(__import__('os').environ.get('GAIN', '2'))",
        "from math import *\nimport math\nGAIN = float(math.__loader__ is not None)",
        "GAIN = 2.0\nprint(GAIN)",
    ],
)
def test_recall__description_that_looks_outside__is_never_remembered(folder: Path, impure: str) -> None:
    (folder / "gain.txt").write_text("2.0")
    (folder / "lib.py").write_text(LIBRARY.replace("GAIN = 2.0", impure))
    _describe(folder)
    assert not _describe(folder).cached


def test_recall__environment_of_an_impure_description__is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "lib.py").write_text(LIBRARY.replace("GAIN = 2.0", "import os\nGAIN = float(os.environ['GAIN'])"))
    texts = []
    for gain in ("3.0", "7.0"):
        monkeypatch.setenv("GAIN", gain)
        texts.append(_describe(folder).emitted.text)
    assert "3.0" in texts[0]
    assert "7.0" in texts[1]


def test_recall__wanted_ir_or_spans_or_no_cache__runs_it(folder: Path) -> None:
    _describe(folder)
    assert not _describe(folder, keep_ir=True).cached
    assert _describe(folder, keep_spans=True).emitted.mapped
    assert not _describe(folder, cache=None).cached


def test_recall__damaged_memory__is_not_trusted(folder: Path) -> None:
    _describe(folder)
    for path in (folder / "cache").rglob("*"):
        if path.is_file():
            content = bytearray(path.read_bytes())
            content[-3] ^= 1
            path.write_bytes(content)
    assert not _describe(folder).cached


@pytest.mark.toolchain
def test_recall__slang_objects_later__points_at_the_users_line(folder: Path) -> None:
    (folder / "curve.slang").write_text("[Differentiable]\npublic float shade(float x) { return x; }\n")
    extern = 'shade = sa.extern("shade", "curve.slang", "(x: float) -> float", differentiable=True)\n'
    text = KERNEL.replace("import lib\n", f"{extern}").replace("lib.curve(x)", "shade(x)")
    (folder / "fit.py").write_text(text)
    (folder / "inner.slang").write_text("[Differentiable]\npublic float shade(float x) { return x; }\n")
    (folder / "curve.slang").write_text("__exported import inner;\n")
    options = Options(cache=Cache(folder / "cache"), workers=1)
    (first,) = compile_inputs([Input(Path("fit.py"))], options)
    assert first.outputs
    (folder / "inner.slang").write_text("[Differentiable]\npublic float other(float x) { return x; }\n")
    with pytest.raises(CompileError) as raised:
        compile_inputs([Input(Path("fit.py"))], options)
    assert raised.value.diagnostics[0].span.file == "fit.py"
    assert raised.value.diagnostics[0].span.line == 8


def test_recall__edit_within_a_second_of_the_same_size__is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    for gain in ("3.0", "4.0"):
        (folder / "lib.py").write_text(LIBRARY.replace("2.0", gain))
        os.utime(folder / "lib.py", (1_700_000_000, 1_700_000_000))
        assert f"GAIN = {gain}" in _describe(folder).emitted.text
    assert not (folder / "__pycache__").exists()


def test_recall__loop_that_no_group_runs__keeps_its_note(folder: Path) -> None:
    loop = "    for k in sa.group_range(8):\n        x += lib.curve(x)\n    return x\n"
    (folder / "fit.py").write_text(KERNEL.replace("    return lib.curve(x)\n", loop))
    first, second = _describe(folder), _describe(folder)
    assert second.cached
    assert second.kernels == first.kernels
    ((reason, span),) = second.kernels[0].unshared
    assert (reason, span.file, span.line, span.column) == ("the kernel has one axis", "fit.py", 8, 5)
