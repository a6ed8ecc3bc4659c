"""The same program in Python and in YAML: the emitted Slang is equal byte for byte, but for the source it names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.request import CompileJob

if TYPE_CHECKING:
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.toolchain.session import Toolchain

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.yaml"))


def emitted(name: str, ending: str) -> EmittedModule:
    return emit_module(run_passes(load(Path(f"{name}{ending}"))))


@pytest.fixture
def _in_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROGRAMS)


def test_programs__number_of_pairs__covers_the_language() -> None:
    assert len(NAMES) >= 12
    assert sorted(path.stem for path in PROGRAMS.glob("*.py")) == NAMES


@pytest.mark.usefixtures("_in_programs")
@pytest.mark.parametrize("name", NAMES)
def test_same_program__python_and_yaml__emit_the_same_bytes(name: str) -> None:
    python, yaml = emitted(name, ".py"), emitted(name, ".yaml")
    header, body = python.text.split("\n", 1)
    assert yaml.text.split("\n", 1) == [header.replace(".py.", ".yaml."), body]
    assert yaml.file_name == python.file_name
    assert yaml.libraries == python.libraries
    assert yaml.entry_points == python.entry_points
    assert sorted(yaml.names.values()) == sorted(python.names.values())


@pytest.mark.toolchain
@pytest.mark.usefixtures("_in_programs")
def test_same_program__every_yaml__compiles_with_slang(toolchain: Toolchain) -> None:
    jobs = []
    for name in NAMES:
        module = emitted(name, ".yaml")
        entries = tuple(entry.name for entry in module.entry_points)
        libraries = tuple(module.libraries.items())
        jobs.append(
            CompileJob(f"{name}.slang", module.text, entries, ("cpp",), libraries, (str(PROGRAMS),), whole=True)
        )
    for name, result in zip(NAMES, toolchain.compile(jobs), strict=True):
        assert result.ok, f"{name}: {result.messages} {result.diagnostics}"
