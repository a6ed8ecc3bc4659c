"""Every folder ``<feature>/<name>`` here is a case: what ``input.py`` or ``input.yaml`` becomes, or what is wrong.

An accepted input has ``ir.txt`` (the front end's module) and ``out.slang``; a rejected one has ``diag.txt``, the
diagnostics as a terminal without colours shows them. ``pytest --update`` rewrites these files. A first line
``# flags: --targets cpp spirv`` says what the real Slang compiles the case for; without it that is ``cpp``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.wrapping import with_kernels

import slangad.compiler
from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import GENERATED, symbols
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.passes import run_passes
from slangad.compiler.report.text import render
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.toolchain.session import Toolchain

HERE = Path(__file__).resolve().parent
CASES = sorted(path.parent for ending in ("py", "yaml") for path in HERE.glob(f"*/*/input.{ending}"))
GOLDENS = ("ir.txt", "out.slang", "diag.txt")


@dataclass(frozen=True)
class Outcome:
    """What became of a case: the text of its golden files, and the front end's module if there is one."""

    files: Mapping[str, str]
    module: Module | None = None


def name_of(case: Path) -> str:
    """``feature/name``."""
    return case.relative_to(HERE).as_posix()


def input_of(case: Path) -> Path:
    """The description of a case."""
    return next(path for path in (case / "input.py", case / "input.yaml") if path.exists())


def run_case(case: Path) -> Outcome:
    """Takes a case as far as it gets; the working folder is the case's."""
    try:
        module = load(Path(input_of(case).name))
        text = show(module)
        assert parse(text) == module, "the text of the IR does not read back"
        emitted = emit_module(run_passes(module, None))
    except CompileError as error:
        return Outcome({"diag.txt": _portable(render(error.diagnostics), case)})
    return Outcome({"ir.txt": _portable(text, case), "out.slang": _portable(emitted.text, case)}, module)


def _portable(text: str, case: Path) -> str:
    """Write ``…`` for the version. Modules that a case imports, and those of ``sa.nn``, know their absolute path."""
    text = text.replace(f"{GENERATED}{slangad.__version__} ", f"{GENERATED}… ")
    package = Path(slangad.compiler.__file__).parent
    for folder in {package, package.resolve()}:
        text = text.replace(f"{folder}{os.sep}", "slangad/compiler/")
    return text.replace(f"{case}{os.sep}", "")


@pytest.fixture
def _in_case(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)


@pytest.mark.usefixtures("_in_case")
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_case__its_goldens__are_what_it_becomes(case: Path, request: pytest.FixtureRequest) -> None:
    outcome = run_case(case)
    if request.config.getoption("--update"):
        for golden in GOLDENS:
            _write(case / golden, outcome.files.get(golden))
        return
    for golden in GOLDENS:
        path = case / golden
        expected = path.read_text(encoding="utf-8") if path.exists() else None
        actual = outcome.files.get(golden)
        if expected is None and actual is not None:
            pytest.fail(f"{name_of(case)} has no {golden}: run pytest --update and review it\n{actual}")
        assert actual == expected, f"{name_of(case)}/{golden} changed: review it, then pytest --update"


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="")


def flags_of(case: Path) -> list[str]:
    """The words after ``# flags:`` in the first line."""
    first = input_of(case).read_text(encoding="utf-8-sig", errors="replace").partition("\n")[0]
    return first.removeprefix("# flags:").split() if first.startswith("# flags:") else []


def targets_of(case: Path) -> tuple[str, ...]:
    """What the case is compiled for."""
    flags = flags_of(case)
    return tuple(flags[1:]) if flags[:1] == ["--targets"] else ("cpp",)


def job_of(case: Path, module: Module) -> CompileJob:
    """A case as a job for the toolchain, every function in a kernel so that its derivatives are compiled too."""
    emitted = emit_module(run_passes(with_kernels(module), None))
    entries = symbols(emitted.entry_points)
    libraries = tuple(emitted.libraries.items())
    targets = targets_of(case)
    return CompileJob(
        f"{case.parent.name}.{case.name}.slang",
        emitted.text,
        entries,
        targets,
        libraries,
        (str(case),),
        whole=all(TARGETS[target].whole for target in targets),
    )


@pytest.mark.toolchain
def test_cases__all_that_are_accepted__compile_with_slang(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: dict[str, CompileJob] = {}
    for case in CASES:
        monkeypatch.chdir(case)
        module = run_case(case).module
        if module is not None and module.functions:
            jobs[name_of(case)] = job_of(case, module)
    results = dict(zip(jobs, toolchain.compile(list(jobs.values())), strict=True))
    wrong = {
        name: [*(m.text for m in result.messages), *(d.message for d in result.diagnostics)]
        for name, result in results.items()
        if not result.ok or result.messages
    }
    assert not wrong, "\n".join(f"{name}: {said}" for name, said in wrong.items())
