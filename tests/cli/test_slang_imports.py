"""Slang files whose functions take and give structs of modules that they import: compiled, run and checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.toolchain

SPHERE = """
module lib;
public struct Sphere : IDifferentiable
{
    public float r;
    [Differentiable] public float sdf(float3 p) { return dot(p, p) - r; }
}
"""
USES = """
[Differentiable] float f(Sphere s, float3 p) { return s.sdf(p); }
[Differentiable] Sphere h(float r) { Sphere s; s.r = r * r; return s; }
[Differentiable] float g(Sphere s[2]) { return s[0].r * s[1].r; }
"""
PLAIN = "struct {name} : IDifferentiable {{ float r; }}\n[Differentiable] float r(float x) {{ return x; }}\n"
MANY = """
#if 0
import nowhere;
#endif
// import neither;
import my_lib; import folder.dotted;
import /* of another folder */ "far/string.slang";
import outside;
[Differentiable] float f(Dashed a, Dotted b) { return a.r * b.r; }
[Differentiable] float g(ns.Spaced c, Pair<Outside> d) { return c.r * d.a.r * d.b.deep.r; }
struct Pair<T : IDifferentiable> : IDifferentiable { T a; T b; }
"""


def verdicts(project: Project, *words: str) -> dict[str, str]:
    """The verdict of each result."""
    ended = project.run("check", *words, "--format", "json", "--samples", "16", code=None)
    return {one["function"]: one["verdict"] for one in json.loads(ended.stdout)["results"]}


@pytest.mark.parametrize("text", [SPHERE, SPHERE.replace("module lib;", "").replace("public ", "")])
def test_struct_of_an_import__is_compiled_run_and_checked(project: Project, text: str) -> None:
    project.write("lib.slang", text)
    project.write("imp.slang", f"import lib;{USES}")
    project.run("compile", "imp.slang", "-t", "spirv")
    assert b'import "imp.slang";\nimport "lib.slang";\n' in project.files()["imp_kernels.slang"]
    assert "1 4" in project.run("run", "imp.slang:h", "--set", "r=[1,2]").stderr
    assert verdicts(project, "imp.slang") == dict.fromkeys("fhg", "PASS")


def test_imports__however_written_and_wherever_they_lie__are_repeated(project: Project) -> None:
    project.write("in/my-lib.slang", PLAIN.format(name="Dashed"))
    project.write("in/folder/dotted.slang", PLAIN.format(name="Dotted"))
    project.write("in/far/string.slang", "namespace ns { struct Spaced : IDifferentiable { float r; }; }")
    deep = "import deep;\nstruct Outside : IDifferentiable { float r; Deep deep; }"
    project.write("inc/outside.slang", deep)
    project.write("inc/deep.slang", PLAIN.format(name="Deep").replace("float r(float", "float c(float"))
    project.write("in/many.slang", MANY)
    project.run("compile", "in/many.slang", "-I", "inc", "-t", "spirv")
    text = project.files()["many_kernels.slang"].decode()
    paths = ("many", "my-lib", "folder/dotted", "far/string", "outside", "../inc/deep")
    assert [line for line in text.splitlines() if line.startswith("import")] == [f'import "{p}.slang";' for p in paths]
    assert verdicts(project, "in/many.slang", "-I", "inc") == {"f": "PASS", "g": "PASS"}


def test_struct_that_a_macro_of_a_header_makes__brings_in_all_imports(project: Project) -> None:
    project.write("made.h", "#define MAKE(Name) struct Name : IDifferentiable { float r; }\nMAKE(Made)\n")
    project.write("lib.slang", '#include "made.h"\n')
    project.write("imp.slang", "import lib;\n[Differentiable] float f(Made m) { return m.r * m.r; }\n")
    project.run("compile", "imp.slang", "-t", "spirv")
    assert verdicts(project, "imp.slang") == {"f": "PASS"}


def test_imports__whose_structs_no_kernel_names__are_not_repeated(project: Project) -> None:
    project.write("lib.slang", SPHERE)
    inside = "[Differentiable] float f(float r) { Sphere s; s.r = r; return s.sdf(float3(r)); }"
    project.write("imp.slang", f"import lib;\n{inside}\nstruct Own : IDifferentiable {{ float x; }}\n"
                  "[Differentiable] float g(Own o) { return o.x * o.x; }\n")  # fmt: skip
    project.run("compile", "imp.slang", "-t", "spirv")
    assert b"lib" not in project.files()["imp_kernels.slang"]
