"""A ninja build of two kernels: only what must be made is made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Project

pytestmark = [pytest.mark.toolchain, pytest.mark.skipif(shutil.which("ninja") is None, reason="needs ninja")]

RULES = """rule slangad
  command = {python} -m slangad.cli -q compile $in -t spirv -t wgsl -o build{extra}
  depfile = build/$stem.d
{more}  restat = 1

build build/first.manifest.json build/first.first.forward.spv: slangad first.py
  stem = first
build build/second.manifest.json build/second.second.forward.spv: slangad second.py
  stem = second
"""


@pytest.fixture(params=["gcc", "plain"])
def build(project: Project, request: pytest.FixtureRequest) -> Project:
    """Two kernels, each with a module it imports; the second also imports Slang."""
    project.kernel("first", library="one")
    text = project.kernel("second", library="two").read_text()
    project.write("shade.slang", "[Differentiable]\npublic float shade(float x) { return x * 0.5; }\n")
    extern = 'shade = sa.extern("shade", "shade.slang", "(x: float) -> float", differentiable=True)\n'
    project.write(
        "second.py", text.replace("\n\n@sa.kernel", f"\n{extern}\n\n@sa.kernel").replace("r * r", "shade(r * r)")
    )
    more, extra = ("  deps = gcc\n", "") if request.param == "gcc" else ("", " --depfile-target $out")
    extra = extra.replace("$out", "build/$stem.manifest.json")
    project.write("build.ninja", RULES.format(python=sys.executable, more=more, extra=extra))
    return project


def _ninja(project: Project) -> list[str]:
    """Build; the commands that ran."""
    ended = subprocess.run(
        ["ninja", "-v"], cwd=project.folder, env=project.environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [line for line in ended.stdout.splitlines() if " compile " in line]


def _touch(project: Project, name: str) -> None:
    os.utime(project.folder / name)


def _times(project: Project) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (project.folder / "build").iterdir()}


def test_ninja__nothing_touched__nothing_is_made(build: Project) -> None:
    assert len(_ninja(build)) == 2
    before = _times(build)
    assert _ninja(build) == []
    assert _times(build) == before


@pytest.mark.parametrize(("touched", "made"), [("first.py", "first"), ("one.py", "first"), ("shade.slang", "second")])
def test_ninja__one_input_touched__only_its_artefacts_are_made(build: Project, touched: str, made: str) -> None:
    _ninja(build)
    before = build.files()
    path = build.folder / touched
    path.write_text(path.read_text().replace("0.5", "0.25").replace("2.0", "3.0").replace("r * r", "r * r * r"))
    (command,) = _ninja(build)
    assert f" {made}.py " in command
    after = build.files()
    changed = {name for name in after if after[name] != before.get(name)}
    assert any(name.startswith(f"{made}.{made}.") for name in changed) or touched == "shade.slang"
    assert all(name.startswith((f"{made}.", "manifest.json")) for name in changed)
    assert _ninja(build) == []


def test_ninja__touched_without_change__is_made_once_and_rewrites_nothing(build: Project) -> None:
    _ninja(build)
    before = {
        name: when for name, when in _times(build).items() if name.startswith("first.") and not name.endswith(".d")
    }
    _touch(build, "first.py")
    assert len(_ninja(build)) == 1
    assert {name: when for name, when in _times(build).items() if name in before} == before
    assert _ninja(build) == []


def test_ninja__depfile__lists_python_modules_and_slang_files(build: Project) -> None:
    build.run_apart("compile", "second.py")
    needed = (build.folder / "build/second.d").read_text().replace("\\\n", " ").partition(":")[2].split()
    assert set(needed) == {"second.py", "two.py", "shade.slang"}
