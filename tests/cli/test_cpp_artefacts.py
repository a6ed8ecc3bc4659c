"""The C++ artefacts of several kernels link into one program, without warnings, with both families of compilers."""

from __future__ import annotations

import math
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
    every = [artefact for kernel in kernels for entry in kernel["entry_points"] for artefact in entry["artefacts"]]
    entries = [*dict.fromkeys(artefact["entry"] for artefact in every)]
    assert {entry.split("_")[1] for entry in entries} == {"first", "second"}
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


ONE_NAME = """#include "k-1.slangad.hpp"
#include "ü.slangad.hpp"

#include <cstdio>

template <class Inputs>
Inputs inputs_of(const std::vector<float>& x)
{
    Inputs inputs;
    inputs.x = x;
    inputs.target = x;
    inputs.k = 0.5f;
    return inputs;
}

int main()
{
    const std::vector<float> x = {1.5f};
    std::vector<float> one(1), two(1), slope(1);

    slangad::from_k_1::fit::Results results;
    results.result = one;
    slangad::from_k_1::fit::forward(inputs_of<slangad::from_k_1::fit::Inputs>(x), results, {1});

    namespace fit = slangad::from_u::fit;
    fit::Gradients gradients;
    gradients.grad_x = slope;
    fit::backward(inputs_of<fit::Inputs>(x), gradients, {1});

    slangad::alone::Results other; // no other input has a kernel of this name
    other.result = two;
    slangad::alone::forward(inputs_of<slangad::alone::Inputs>(x), other, {1});
    std::printf("%.6g %.6g %.6g\\n", one[0], slope[0], two[0]);
}

namespace slangad::alone // programs may add to a kernel's namespace
{
using Mine = Inputs;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("emit", ["library", "artefacts"])
def test_cpp__kernels_of_one_name_in_two_inputs__are_called_by_one_program(
    project: Project, tool: Callable[[str], str], compiler: str, emit: str
) -> None:
    text = project.kernel("k-1", kernel="fit").read_text(encoding="utf-8")
    alone = text[text.index("@sa.kernel") :].replace("def fit", "def alone").replace("r * r", "5.0 * r")
    project.write("ü.py", f"{text.replace('return r * r', 'return 3.0 * r')}\n\n{alone}")
    words = ("k-1.py", "ü.py", "--emit", emit, "--emit", "header", "-t", "cpp")
    project.run("compile", *words)
    assert "2 of 2 up to date" in project.run("compile", *words).stderr
    project.write("main.cpp", ONE_NAME)
    sources = sorted(f"build/{name}" for name in project.files() if name.endswith(".cpp"))
    command = [tool(compiler), *STRICT, "-Ibuild", "main.cpp", *sources, "-o", "program", "-pthread"]
    built = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    printed = subprocess.run([project.folder / "program"], capture_output=True, text=True, check=True).stdout
    r, slope = 2 * 1.5**2 / (1.5**2 + 0.5) - 1.5, 2 * 2 * 1.5 * 0.5 / (1.5**2 + 0.5) ** 2
    assert [float(word) for word in printed.split()] == pytest.approx([r * r, 3 * slope, 5 * r], rel=1e-5)


def test_cpp__second_input__renames_nothing_of_the_first(project: Project) -> None:
    for name in ("first", "second"):
        project.kernel(name, kernel="fit")
    for kind in ("library", "artefacts"):
        project.run("compile", "first.py", "--emit", kind, "--emit", "header", "-t", "cpp", "-o", f"{kind}/one")
        words = ("first.py", "second.py", "--emit", kind, "--emit", "header", "-t", "cpp")
        project.run("compile", *words, "-o", f"{kind}/both")
        one, both = project.files(f"{kind}/one"), project.files(f"{kind}/both")
        written = [name for name in one if name.endswith((".cpp", ".hpp"))]
        assert len(written) > 1
        assert {name: one[name] for name in written} == {name: both[name] for name in written}


USE = """#include "FOLDER/fit.slangad.hpp"

float use_FOLDER(const std::vector<float>& x)
{
    std::vector<float> result(1);
    slangad::fit::Inputs inputs;
    inputs.x = x;
    inputs.target = x;
    inputs.k = 0.5f;
    slangad::fit::Results results;
    results.result = result;
    slangad::fit::forward(inputs, results, {1});
    return result[0];
}
"""
BOTH = """#include <cstdio>
#include <vector>

float use_one(const std::vector<float>&);
float use_two(const std::vector<float>&);

int main() { std::printf("%.6g %.6g\\n", use_one({1.5f}), use_two({1.5f})); }
"""


def test_cpp__archives_of_inputs_of_one_name__are_not_mixed_up(project: Project, tool: Callable[[str], str]) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py", "--emit", "library", "--mode", "forward", "-o", "one")
    project.write("fit.py", (project.folder / "fit.py").read_text().replace("return r * r", "return 3.0 * r"))
    project.run("compile", "fit.py", "--emit", "library", "--mode", "forward", "-o", "two")
    project.write("main.cpp", BOTH)
    for name in ("one", "two"):
        project.write(f"use_{name}.cpp", USE.replace("FOLDER", name))
        for source in (f"use_{name}.cpp", f"{name}/fit.slangad.cpp"):
            command = [tool("g++"), *STRICT, "-c", source, "-o", f"{source}.o"]
            subprocess.run(command, cwd=project.folder, check=True)
        objects = (f"use_{name}.cpp.o", f"{name}/fit.slangad.cpp.o")
        subprocess.run(["ar", "rcs", f"{name}.a", *objects], cwd=project.folder, check=True)
    command = [tool("g++"), "main.cpp", "one.a", "two.a", "-o", "program", "-pthread"]
    subprocess.run(command, cwd=project.folder, check=True)
    printed = subprocess.run([project.folder / "program"], capture_output=True, text=True, check=True).stdout
    r = 2 * 1.5**2 / (1.5**2 + 0.5) - 1.5
    assert [float(word) for word in printed.split()] == pytest.approx([r * r, 3 * r], rel=1e-5)


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


ODD = """from typing import Annotated, Any
import slangad as sa
from slangad import Array, Each, Param, float3

@sa.kernel
def odd(x: Each[float], net: Param[Annotated[Any, sa.nn.MLP([1, 33, 3], activation="tanh")]]) -> Each[float3]:
    y = net(Array[float, 1](x))
    return float3(y[0], y[1], y[2])
"""
OF_ODD = """#include "odd.slangad.hpp"
#include <cstdio>
int main()
{
    std::vector<float> x = {0.5f}, w1(33), b1(33, 0.25f), w2(99, 0.5f), b2(3), seed(3, 1.0f);
    for (int i = 0; i < 33; ++i)
        w1[i] = 0.0625f * i;
    std::vector<float> d_x(1), d_w1(33), d_b1(33), d_w2(99), d_b2(3);
    slangad::odd::Inputs inputs;
    inputs.x = x;
    inputs.net_l1_w = w1;
    inputs.net_l1_b = b1;
    inputs.net_l2_w = w2;
    inputs.net_l2_b = b2;
    slangad::odd::Gradients gradients;
    gradients.cotangent_result = seed;
    gradients.grad_x = d_x;
    gradients.grad_net_l1_w = d_w1;
    gradients.grad_net_l1_b = d_b1;
    gradients.grad_net_l2_w = d_w2;
    gradients.grad_net_l2_b = d_b2;
    slangad::odd::backward(inputs, gradients, {1});
    for (float d : d_w2)
        std::printf("%.9g\\n", d);
}
"""


@pytest.mark.parametrize("options", ["g++ -O2", "g++ -O3", "g++ -O2 -march=native", "clang++ -O2"])
@pytest.mark.parametrize("emit", [("library",), ("header", "artefacts")])
def test_cpp__layer_of_33_inputs__has_its_gradient_with_strict_aliasing(
    project: Project, tool: Callable[[str], str], options: str, emit: tuple[str, ...]
) -> None:
    compiler, *flags = options.split()
    command = [tool(compiler), "-std=c++17", "-Wall", "-Wextra", "-Werror", *flags]
    project.write("odd.py", ODD)
    project.run("compile", "odd.py", "-t", "cpp", *(word for kind in emit for word in ("--emit", kind)))
    project.write("main.cpp", OF_ODD)
    sources = [str(path) for path in (project.folder / "build").glob("*.cpp")]
    command += ["-Ibuild", "main.cpp", *sources, "-o", "program", "-pthread"]
    built = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    printed = subprocess.run([project.folder / "program"], capture_output=True, text=True, check=True).stdout
    expected = 3 * [math.tanh(0.5 * 0.0625 * i + 0.25) for i in range(33)]
    assert [float(word) for word in printed.split()] == pytest.approx(expected, rel=1e-5)
