"""The C++ artefacts of several kernels link into one program, without warnings, with both families of compilers."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain

STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1")
MORE = """

@sa.kernel
def scaled(rows: sa.Tensor[sa.half, 2], k: sa.Param[sa.half], n: sa.NoDiff[sa.Each[int]]) -> sa.Sum[float]:
    return float(rows[n % 2, 0] * k)
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_cpp__artefacts_of_several_kernels__link_into_one_program(
    project: Project, tool: Callable[[str], str], compiler: str
) -> None:
    command = tool(compiler)
    project.kernel("first")
    second = project.kernel("second")
    second.write_text(second.read_text() + MORE, encoding="utf-8")
    project.run("compile", "first.py", "second.py", "-t", "cpp")
    entries = [e["name"] for i in project.manifest()["inputs"] for k in i["kernels"] for e in k["entry_points"]]
    declared = "\n".join(f'extern "C" void {entry}(void*, void*, void*);' for entry in entries)
    calls = "\n".join(f"    {entry}(none, none, none);" for entry in entries)
    project.write("main.cpp", f"{declared}\nint main()\n{{\n    int none[6] = {{}};\n{calls}\n}}\n")
    artefacts = sorted(name for name in project.files() if name.endswith(".cpp"))
    assert len(artefacts) == len(entries) > 9
    sources = ["main.cpp", *(f"build/{name}" for name in artefacts)]
    ended = subprocess.run(
        [command, *STRICT, *sources, "-o", "program"], cwd=project.folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    subprocess.run([project.folder / "program"], check=True)
