"""An external slangc gives what the library gives.

Where no slangc is installed, a program stands in for it that reads slangc's command line and compiles with the library.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.slangc import program, stand_in

from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.session import Toolchain, compile_jobs

pytestmark = [pytest.mark.toolchain, pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script")]

TARGETS = ("glsl", "hlsl", "wgsl", "metal", "cuda", "cpp")


@pytest.fixture(scope="module")
def slangc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    installed = shutil.which("slangc")
    if installed:
        return Path(installed)
    return stand_in(tmp_path_factory.mktemp("bin") / "slangc")


def test_slangc__same_job__gives_entries_reflection_and_dependencies(
    slangc: Path, toolchain: Toolchain, tmp_path: Path, entry: str
) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "table.slang").write_text("float value() { return 1.0; }")
    text = "import table;\n" + "".join(entry.format(name=n, body="r[i] = value();") for n in ("one", "two"))
    job = CompileJob("k.slang", text, ("one", "two"), TARGETS, include_dirs=(str(folder),))
    (external,) = compile_jobs([job], slangc=slangc)
    assert external.ok, external
    assert [(a.target, a.entry) for a in external.artefacts] == list(job.units())
    assert external.dependencies == (str(folder / "table.slang"),)
    (internal,) = toolchain.compile([job])
    assert [(t, e) for t, e, _ in external.reflection] == [(t, e) for t, e, _ in internal.reflection]
    if "slangad" in slangc.read_text(errors="replace"):
        assert external == internal


def test_slangc__whole__gives_one_artefact(slangc: Path, entry: str) -> None:
    text = "".join(entry.format(name=n, body="r[i] = 1.0;") for n in ("one", "two"))
    (result,) = compile_jobs([CompileJob("k.slang", text, ("one", "two"), ("cpp",), whole=True)], slangc=slangc)
    (artefact,) = result.artefacts
    assert "one_Group" in artefact.text
    assert "two_Group" in artefact.text


def test_slangc__rejection__is_told_with_place(slangc: Path, entry: str) -> None:
    text = entry.format(name="k", body="r[i] = nothing;")
    (result,) = compile_jobs([CompileJob("k.slang", text, ("k",), ("hlsl", "cpp"))], slangc=slangc)
    assert not result.artefacts
    assert [(m.code, m.file, m.line) for m in result.messages] == [(30015, "k.slang", 3)]


def test_slangc__crash__is_told(slangc: Path, crashing: str) -> None:
    (result,) = compile_jobs([CompileJob("k.slang", crashing, ("bad", "fine"), ("hlsl",))], slangc=slangc)
    assert [a.entry for a in result.artefacts] == ["fine"]
    assert [d.code for d in result.diagnostics] == ["SA240"]


def test_slangc__too_slow__is_ended(tmp_path: Path, entry: str) -> None:
    slow = program(tmp_path / "slangc", "#!/bin/sh\nsleep 30\n")
    job = CompileJob("k.slang", entry.format(name="k", body=""), ("k",), ("hlsl",), time_limit=0.5)
    (result,) = compile_jobs([job], slangc=slow)
    assert [d.code for d in result.diagnostics] == ["SA241"]


def test_slangc__not_slangc__is_a_diagnostic(tmp_path: Path, entry: str) -> None:
    other = program(tmp_path / "slangc", "#!/bin/sh\necho I am something else\n")
    (result,) = compile_jobs([CompileJob("k.slang", entry.format(name="k", body=""), ("k",), ("hlsl",))], slangc=other)
    (problem,) = result.diagnostics
    assert (problem.code, problem.notes) == ("SA247", ("I am something else",))


@pytest.mark.parametrize("make", ["absent", "not executable", "not a program"])
def test_slangc__cannot_run__is_a_toolchain_error(tmp_path: Path, entry: str, make: str) -> None:
    path = tmp_path / "slangc"
    if make == "not executable":
        path.write_text("")
    elif make == "not a program":
        program(path, "\0\0\0")
    with pytest.raises(ToolchainError, match="SA243"):
        compile_jobs([CompileJob("k.slang", entry.format(name="k", body=""), ("k",), ("hlsl",))], slangc=path)
