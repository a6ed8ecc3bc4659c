"""Inputs are up to date by their manifests: nothing is compiled, loaded from a cache or written."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.toolchain

COMPILE = ("compile", "first.py", "second.py", "-t", "wgsl", "--mode", "forward")
CHANGES: dict[str, Callable[[Project], object]] = {
    "input": lambda p: p.kernel("first", "other"),
    "import": lambda p: p.write("lib.py", (p.folder / "lib.py").read_text() + "\n"),
    "shadow": lambda p: p.write("math.py", ""),
    "artefact": lambda p: _append(p, "build/first.first.forward.wgsl"),
    "same_size": lambda p: _change_a_letter(p, "build/first.first.forward.wgsl"),
    "no_reflection": lambda p: (p.folder / "build/first.first.forward.wgsl.reflection.json").unlink(),
    "record": lambda p: _change_a_letter(p, "build/first.manifest.json"),
    "depfile": lambda p: p.write("build/first.d", "first.slang: nothing.py\n"),
}


def _append(project: Project, name: str) -> None:
    project.write(name, (project.folder / name).read_text() + "\n")


def _change_a_letter(project: Project, name: str) -> None:
    text = (project.folder / name).read_text()
    project.write(name, text[:-10] + text[-10:].replace("}", "{"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two kernels that were compiled; tests copy the folder."""
    project = Project(tmp_path_factory.mktemp("built"))
    project.kernel("first")
    project.kernel("second")
    project.run(*COMPILE)
    return project


@pytest.fixture
def copied(built: Project, tmp_path: Path) -> Project:
    """The same in a folder of its own, without a cache. The files keep their times."""
    shutil.copytree(built.folder, tmp_path / "copy", ignore=shutil.ignore_patterns(".cache", "__pycache__"))
    return Project(tmp_path / "copy")


def test_compile__unchanged__neither_reads_a_cache_nor_writes(copied: Project) -> None:
    times = {path: path.stat().st_mtime_ns for path in (copied.folder / "build").iterdir()}
    assert "2 kernels, 2 artefacts in build, 2 of 2 up to date" in copied.run(*COMPILE).stderr
    for path in (copied.folder / "first.py", *times):
        os.utime(path)  # newer than the manifest: the hash decides
    touched = {path: path.stat().st_mtime_ns for path in times}
    assert "2 of 2 up to date" in copied.run(*COMPILE, "--no-cache").stderr
    assert {path: path.stat().st_mtime_ns for path in times} == touched
    assert not (copied.folder / ".cache").exists()


@pytest.mark.parametrize("change", CHANGES)
def test_compile__change__compiles_what_is_stale(copied: Project, built: Project, change: str) -> None:
    CHANGES[change](copied)
    stale = 2 if change in ("import", "shadow") else 1
    ended = copied.run(*COMPILE, SLANGAD_CACHE_DIR=str(built.folder / ".cache"))
    assert f"{2 - stale} of 2 up to date" in ended.stderr or stale == 2
    assert "2 of 2 up to date" in copied.run(*COMPILE).stderr
    afresh = copied.run(*COMPILE, "--force", "-o", "afresh", SLANGAD_CACHE_DIR=str(built.folder / ".cache"))
    assert "up to date" not in afresh.stderr
    made, wanted = copied.files(), copied.files("afresh")
    assert {name: text for name, text in made.items() if not name.endswith(".d")} == {
        name: text for name, text in wanted.items() if not name.endswith(".d")
    }


@pytest.mark.parametrize(
    "words", [("-O", "2"), ("-D", "A=1"), ("--namespace", "mine"), ("--deterministic",), ("--depfile-target", "x")]
)
def test_compile__other_options__compiles_again(copied: Project, built: Project, words: tuple[str, ...]) -> None:
    ended = copied.run(*COMPILE, *words, SLANGAD_CACHE_DIR=str(built.folder / ".cache"))
    assert "up to date" not in ended.stderr
    assert "2 of 2 up to date" in copied.run(*COMPILE, *words).stderr


def test_compile__two_up_to_date_kernels_of_one_name__are_refused_in_cpp_if_their_inputs_have_one_name_there(
    project: Project,
) -> None:
    inputs = ("first-one.py", "first_one.py", "second.py")
    for name in inputs:
        project.kernel(name.removesuffix(".py"), kernel="same")
        project.run("compile", name, "-t", "cpp", "-o", "cpp")
    assert "SA402" in project.run("compile", *inputs, "-t", "cpp", "-o", "cpp", code=1).stderr
    assert "2 of 2 up to date" in project.run("compile", *inputs[1:], "-t", "cpp", "-o", "cpp").stderr


def test_compile__kernels_of_one_name_in_two_inputs__have_files_of_their_own(project: Project) -> None:
    inputs = ("first.py", "second.py")
    for name in inputs:
        project.kernel(name.removesuffix(".py"), kernel="same")
    words = (*inputs, "-t", "spirv", "-t", "wgsl", "--emit", "artefacts", "--emit", "typescript")
    project.run("compile", *words)
    assert "2 of 2 up to date" in project.run("compile", *words).stderr
    found = project.manifest()["inputs"]
    assert [(one["path"], one["kernels"][0]["name"]) for one in found] == [
        ("../first.py", "same"),
        ("../second.py", "same"),
    ]
    entries = [entry for one in found for kernel in one["kernels"] for entry in kernel["entry_points"]]
    artefacts = {artefact["file"] for entry in entries for artefact in entry["artefacts"]}
    assert artefacts == {name for name in project.files() if name.endswith((".spv", ".wgsl"))}
    assert len(artefacts) == 2 * 2 * 3


def test_compile__notes__are_shown_again(project: Project) -> None:
    names = [f"x{index}" for index in range(9)]
    taken = ", ".join(f"{name}: sa.Each[float]" for name in names)
    text = f"import slangad as sa\n@sa.kernel\ndef wide({taken}) -> sa.Each[float]:\n    return {' + '.join(names)}\n"
    project.write("wide.py", text)
    words = ("compile", "wide.py", "-t", "wgsl", "--mode", "forward", "--no-pack-buffers")
    first = project.run(*words).stderr
    assert "SA427" in first
    assert project.run(*words).stderr.replace(", 1 of 1 up to date", "") == first


UNSHARED = """slangad: 1
kernels:
  shade:
    params: {x: each float, n: uniform int}
    returns: each float
    body: |
      for k in group_range(n, max_iters=8):
          x = sa.sin(x + k)
      return x
  plain: {params: {x: each float}, returns: each float, expr: x * x}
"""


def test_compile__loop_that_no_group_runs__is_a_note_each_time(project: Project) -> None:
    project.write("shade.yaml", UNSHARED)
    note = "shade.yaml:7:7: note[SA310]: a group does not run this loop together: the kernel has one axis\n"
    for options in ((), (), ("--force",)):
        said = project.run("compile", "shade.yaml", "--emit", "slang", *options).stderr
        assert (said.count(note), said.count("SA310")) == (1, 1)
    document = json.loads(project.run("compile", "shade.yaml:shade", "--emit", "slang", "--format", "json").stdout)
    (found,) = document["diagnostics"]
    assert (found["code"], found["severity"], found["line"], found["column"]) == ("SA310", "note", 7, 7)
    assert "SA310" not in project.run("compile", "shade.yaml:plain", "--emit", "slang").stderr


def test_compile__reads_the_environment__is_never_up_to_date(project: Project) -> None:
    project.write("own.py", "import os\n" + project.kernel("fit").read_text())
    for _ in range(2):
        assert "up to date" not in project.run("compile", "own.py", "--emit", "slang").stderr


def test_compile__import_of_slang__new_file_takes_the_name(project: Project) -> None:
    project.write("inc/gain.slang", "module gain;\n[Differentiable] public float gain(float x) { return x * 2.0; }\n")
    project.write("curve.slang", "import gain;\n[Differentiable] float curve(float x) { return gain(x) * x; }\n")
    words = ("compile", "curve.slang", "-I", "inc", "-t", "wgsl", "--mode", "forward")
    project.run(*words)
    assert "1 of 1 up to date" in project.run(*words).stderr
    project.write("gain.slang", "module gain;\n[Differentiable] public float gain(float x) { return x * 3.0; }\n")
    assert "up to date" not in project.run(*words).stderr
    assert b"3.0" in project.files()["curve.curve.forward.wgsl"]


def test_compile__folder_with_its_output__takes_no_emitted_file(project: Project) -> None:
    project.kernel("fit")
    for _ in range(2):
        ended = project.run("compile", ".", "--emit", "slang")
        assert "1 kernel in build" in ended.stderr  # and lib.py, which has none
    assert "2 of 2 up to date" in ended.stderr
