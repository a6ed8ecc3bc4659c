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
    kernels = [kernel for one in project.manifest()["inputs"] for kernel in one["kernels"]]
    entries = [*dict.fromkeys(entry["function"] for kernel in kernels for entry in kernel["entry_points"])]
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


MAIN = """#include "first.slangad.hpp"
#include "second.slangad.hpp"

#include <cstdio>

int main()
{
    const std::vector<float> x = {0.5f, 1.0f, 2.0f}, target = {0.25f, 0.5f, 0.75f};
    std::vector<float> result(3), slope(3);

    slangad::first::Inputs one;
    one.x = x;
    one.target = target;
    one.k = 0.5f;
    slangad::first::Gradients gradients;
    gradients.grad_x = slope;
    slangad::first::backward(one, gradients, {3});

    slangad::second::Inputs two;
    two.x = x;
    two.target = target;
    two.k = 0.5f;
    slangad::second::Results results;
    results.result = result;
    slangad::second::forward(two, results, {3});

    for (int i = 0; i < 3; ++i)
        std::printf("%.6g %.6g\\n", slope[i], result[i]);

    const std::vector<float> short_x = {1.0f};
    one.x = short_x;
    try
    {
        slangad::first::backward(one, gradients, {3});
    }
    catch (const std::invalid_argument& error)
    {
        std::puts(error.what());
    }
    for (const auto& launch : slangad::first::backward_launches)
        std::printf("%s %u\\n", launch.entry, launch.groups({{130}})[0]);
}
"""


def test_cpp__headers_of_two_inputs_and_their_artefacts__are_one_program(
    project: Project, tool: Callable[[str], str]
) -> None:
    for name in ("first", "second"):
        project.kernel(name)
    project.run("compile", "first.py", "second.py", "-t", "cpp", "--emit", "artefacts", "--emit", "header")
    project.write("main.cpp", MAIN)
    artefacts = sorted(f"build/{name}" for name in project.files() if name.endswith(".cpp"))
    command = [tool("g++"), *STRICT, "-Ibuild", "main.cpp", *artefacts, "-o", "program", "-pthread"]
    built = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    printed = subprocess.run([project.folder / "program"], capture_output=True, text=True, check=True).stdout
    lines = printed.splitlines()
    for line, x, target in zip(lines, (0.5, 1.0, 2.0), (0.25, 0.5, 0.75), strict=False):
        r = 2 * x * x / (x * x + 0.5) - target
        slope = 2 * r * 2 * (2 * x * 0.5) / (x * x + 0.5) ** 2
        assert [float(word) for word in line.split()] == pytest.approx([slope, r * r], rel=1e-5)
    assert lines[3:] == ["first: x has 1 scalars and needs 3", "first_backward 3"]


def test_cpp__libraries_with_kernels_of_one_name__link_in_namespaces_of_their_own(
    project: Project, tool: Callable[[str], str]
) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py", "--emit", "library", "--mode", "forward", "-o", "one")
    project.write("fit.py", (project.folder / "fit.py").read_text().replace("return r * r", "return 3.0 * r"))
    project.run("compile", "fit.py", "--emit", "library", "--mode", "forward", "-o", "two", "--namespace", "my::own")
    body = "".join(
        f"    {{\n        {scope}::fit::Inputs inputs;\n        inputs.x = x;\n        inputs.target = x;\n"
        f"        {scope}::fit::Results results;\n        results.result = result;\n"
        f'        {scope}::fit::forward(inputs, results, {{1}});\n        std::printf("%g\\n", result[0]);\n    }}\n'
        for scope in ("slangad", "my::own")
    )
    heads = '#include "one/fit.slangad.hpp"\n#include "two/fit.slangad.hpp"\n#include <cstdio>\n'
    project.write("main.cpp", f"{heads}int main()\n{{\n    std::vector<float> x = {{1.5f}}, result(1);\n{body}}}\n")
    sources = ("main.cpp", "one/fit.slangad.cpp", "two/fit.slangad.cpp")
    command = [tool("g++"), *STRICT, *sources, "-o", "program", "-pthread"]
    built = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    printed = subprocess.run([project.folder / "program"], capture_output=True, text=True, check=True).stdout
    assert [float(word) for word in printed.split()] == pytest.approx([0.25, 1.5])
    assert "is not a C++ namespace" in project.run("compile", "fit.py", "--namespace", "a b", code=2).stderr
