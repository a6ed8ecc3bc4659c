"""Programs of several Slang files: found, compiled and checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.toolchain

SQUARE = "[Differentiable] float sq(float x) { return x * x; }\n"


def report(project: Project, *words: str, code: int | None = 0) -> dict[str, Any]:
    """The report of a check."""
    ended = project.run("check", *words, "--format", "json", "--samples", "16", code=code)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def verdicts(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The file and verdict of each result."""
    return {one["function"]: (one["file"], one["verdict"]) for one in found["results"]}


def test_included_file_that_is_a_module__works(project: Project) -> None:
    project.write("inc.slang", f"module inc;\npublic {SQUARE}")
    project.write("main.slang", '#include "inc.slang"\n[Differentiable] float cube(float x) { return sq(x) * x; }\n')
    project.run("compile", "main.slang", "-t", "cuda")
    assert verdicts(report(project, "main.slang"))["cube"] == ("main.slang", "PASS")


def test_import_of_a_parent_folder__is_found_with_a_note(project: Project) -> None:
    project.write("src/math/base.slang", SQUARE)
    project.write("src/math/powers.slang", "import math.base;\n[Differentiable] float p(float x) { return sq(x) * x; }")
    project.write("src/a/b/main.slang", "import math.powers;\n[Differentiable] float f(float x) { return p(x) * x; }")
    found = report(project, "src/a/b/main.slang")
    assert verdicts(found) == {"f": ("src/a/b/main.slang", "PASS")}
    note = "'import math.powers' is found in the parent folder src, which is searched as with -I src"
    assert found["notes"] == [["src/a/b/main.slang", note]]
    assert f"src/a/b/main.slang:1:1: note[SA086]: {note}" in project.run("compile", "src/a/b/main.slang").stderr
    project.write("math/powers.slang", SQUARE)  # two folders have it now
    assert report(project, "src/a/b/main.slang", code=3)["notes"] == []


def test_every_ending_of_slang_files__is_read(project: Project) -> None:
    for ending in ("slang", "slangh", "slangi", "hlsli", "hlsl"):
        project.write(f"in/{ending}_file.{ending}", SQUARE.replace("sq", ending))
    found = verdicts(report(project, "in"))
    assert found == {e: (f"in/{e}_file.{e}", "PASS") for e in ("hlsl", "hlsli", "slang", "slangh", "slangi")}
    project.run("compile", "in/slangh_file.slangh", "-t", "cuda")
    assert b'#include "slangh_file.slangh"' in project.files()["slangh_file_kernels.slang"]
