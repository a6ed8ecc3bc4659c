"""The same program in Python and in YAML: the emitted Slang is equal byte for byte, but for the source it names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.toolchain.session import Toolchain

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "samples"
PAIRS = sorted([*HERE.glob("programs/*.yaml"), *SAMPLES.glob("*/*.yaml")])


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def emitted(path: Path, ending: str) -> EmittedModule:
    """A program's Slang; the working folder is its own."""
    return emit_module(run_passes(load(Path(f"{path.stem}{ending}"))))


def test_programs__number_of_pairs__covers_the_language() -> None:
    assert len(list(HERE.glob("programs/*.yaml"))) >= 12
    assert [path for path in HERE.glob("programs/*.py") if not path.with_suffix(".yaml").exists()] == []


@pytest.mark.parametrize("path", PAIRS, ids=name_of)
def test_same_program__python_and_yaml__emit_the_same_bytes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    python, yaml = emitted(path, ".py"), emitted(path, ".yaml")
    header, body = python.text.split("\n", 1)
    assert yaml.text.split("\n", 1) == [header.replace(".py.", ".yaml."), body]
    assert yaml.file_name == python.file_name
    assert yaml.libraries == python.libraries
    assert yaml.entry_points == python.entry_points
    assert sorted(yaml.names.values()) == sorted(python.names.values())


@pytest.mark.toolchain
def test_same_program__every_yaml__compiles_with_slang(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = []
    for path in PAIRS:
        monkeypatch.chdir(path.parent)
        module = emitted(path, ".yaml")
        entries = symbols(module.entry_points)
        libraries = tuple(module.libraries.items())
        name = f"{path.parent.name}_{path.stem}.slang"
        jobs.append(CompileJob(name, module.text, entries, ("cpp",), libraries, (str(path.parent),), whole=True))
    for path, result in zip(PAIRS, toolchain.compile(jobs), strict=True):
        assert result.ok, f"{name_of(path)}: {result.messages} {result.diagnostics}"
