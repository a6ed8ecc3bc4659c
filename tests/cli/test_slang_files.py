"""Programs of several Slang files: found, compiled and checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.toolchain

SQUARE = "[Differentiable] float sq(float x) { return x * x; }\n"


def function(name: str, value: str) -> str:
    """The text of a differentiable function."""
    return f"[Differentiable] public float {name}(float x) {{ return {value}; }}\n"


WRONG = (
    "[BackwardDerivative(wrong_bwd)] public float wrong(float x) { return x * x; }\n"
    "public void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, x.p * d); }\n"
)


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


def test_parts_of_a_module__are_checked_through_its_main_file_each_once(project: Project) -> None:
    project.write("in/parts/one.slang", f"implementing m;\n{function('one', 'two(x) * x')}")
    wrong = "void own_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3.0 * x.p * d); }\n"
    own = f"[BackwardDerivative(own_bwd)] {function('own', 'x * x')}{wrong}"
    project.write("in/parts/two.slang", f"implementing m;\n{function('two', 'x * x')}{own}")
    project.write("in/m.slang", f'module m;\n__include parts.one;\n__include "parts/two";\n{function("m", "one(x)")}')
    found = report(project, "in", code=3)
    two = {"two": ("in/parts/two.slang", "PASS"), "own": ("in/parts/two.slang", "FAIL")}
    assert verdicts(found) == {"m": ("in/m.slang", "PASS"), "one": ("in/parts/one.slang", "PASS"), **two}
    assert len(found["results"]) == 4
    (failed,) = [one for one in found["results"] if one["function"] == "own"]
    assert failed["span"]["line"] == 3
    assert "in/m.slang --only own" in failed["failures"][0]["reproduce"]
    assert verdicts(report(project, "in/parts/two.slang", code=3)) == two


def test_every_differentiable_function_of_the_given_files__has_a_row(project: Project) -> None:
    hidden = f"#if EXTRA\n{function('hidden', 'x')}#endif\n#if FAST\n{function('two', 'x')}#else\n"
    project.write("in/part.slang", f"implementing m;\n{hidden}{function('two', 'x * x')}#endif\n")
    project.write("in/m.slang", f"module m;\n__include part;\n{function('m', 'two(x)')}")
    project.write("in/open.slang", function("open", "x").replace("}", ""))
    found = report(project, "in", code=3)
    rows = {name: verdict for name, (_, verdict) in verdicts(found).items()}
    assert rows == {"m": "PASS", "two": "PASS", "hidden": "SKIPPED", "": "FAIL", "open": "SKIPPED"}
    reasons = {one["function"]: one["reason"] for one in found["results"]}
    assert "#if" in reasons["hidden"]
    assert "its file can't be checked" in reasons["open"]
    names = [f"slow{number}" for number in range(200)]  # Slang takes far longer than the limit
    project.write("in/slow.slang", "".join(function(name, "sin(x) * x") for name in names))
    slow = report(project, "in/slow.slang", "--time-limit", "0.001", "--no-cache", code=3)
    assert {name: verdict for name, (_, verdict) in verdicts(slow).items() if name} == dict.fromkeys(
        names, "INCONCLUSIVE"
    )
    assert slow["problems"] == ["nothing was checked, though there are differentiable functions"]


def test_errors_in_one_part_of_a_module__cost_what_uses_them_only(project: Project) -> None:
    lost = "struct Lost { Missing k; }\n[Differentiable] float takes(Lost l, float x) { return x; }\n"
    operators = "struct Own<T> { T k; }\nOwn<T> operator+<T>(Own<T> a, Own<T> b) { return a; }\n"
    bad = f"implementing m;\n{operators}{function('broken', 'missing * x')}{function('fine', 'x * x')}{lost}"
    method = "[Differentiable] public float act(float x)"
    project.write("in/parts/bad.slang", f"{bad}public struct Sq : IAct {{ {method} {{ return x * x; }} }}\n")
    act = f"public interface IAct {{ {method}; }}\n"
    project.write("in/parts/good.slang", f"implementing m;\n{act}{function('good', 'fine(x)')}")
    uses = f"{function('own', 'good(x)')}{function('through', 'broken(x) * x')}"
    project.write("in/m.slang", f"module m;\n__include parts.good;\n__include parts.bad;\n{uses}")
    found = report(project, "in", code=3)
    rows = {name: verdict for name, (_, verdict) in verdicts(found).items()}
    right = dict.fromkeys(("fine", "good", "own", "Sq.act"), "PASS")
    assert rows == {**right, **dict.fromkeys(("broken", "Lost", "takes", "through"), "FAIL")}
    places = {one["function"]: (one["span"]["file"], one["span"]["line"]) for one in found["results"]}
    assert places["broken"] == ("in/parts/bad.slang", 4)
    assert places["Sq.act"][0] == "in/parts/bad.slang"
    assert verdicts(report(project, "in/parts/good.slang")) == {"good": ("in/parts/good.slang", "PASS")}


def test_a_generic_struct_of_a_module_that_does_not_compile__costs_its_users_in_four_readings(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slangad.compiler.check.tolerances.REPAIR_ROUNDS", 4)
    bad = "public struct Grid<T> { Missing<T> cells; }\n[Differentiable] public T at<T>(Grid<T> g, T x) { return x; }\n"
    project.write("parts/Grid.slang", f"implementing m;\n{bad}")
    act = "public interface IAct<T> { [Differentiable] T act(T x); }\n"
    subscript = "__subscript(int i) -> T { get { return first(this); } }"
    row = f"struct Row<T> {{ T k; {subscript} }}\nT first<T>(Row<T> r) {{ return r.missing; }}\n"
    users = (
        f"extension<T> Grid<T> : IAct<T> {{ T act(T x) {{ return x; }} }}\n{function('sum', 'at(Grid<float>(), x)')}"
    )
    project.write("parts/uses.slang", f"implementing m;\n__include parts.Grid;\n{act}{row}{users}")
    project.write("parts/good.slang", f"implementing m;\n__include parts.Grid;\n{function('good', 'x * x')}")
    project.write("parts/wrong.slang", f"implementing m;\n{WRONG}")
    project.write("m.slang", "module m;\n" + "".join(f"__include parts.{one};\n" for one in ("uses", "good", "wrong")))
    found = report(project, "m.slang", code=3)
    reasons = {one["function"]: (one["verdict"], one["reason"]) for one in found["results"]}
    assert {name: verdict for name, (verdict, _) in reasons.items()} == {
        "Grid": "FAIL", "at": "FAIL", "sum": "FAIL", "first": "FAIL", "good": "PASS", "wrong": "FAIL",
    }  # fmt: skip
    assert reasons["sum"][1] == "it uses 'Grid', which does not compile"
    assert "d result / d x in reverse mode is wrong" in reasons["wrong"][1]
    assert next(one for one in found["results"] if one["function"] == "wrong")["failures"][0]["span"]["line"] == 3


def test_a_part_that_no_file_includes__is_skipped_with_what_is_missing(project: Project) -> None:
    project.write("in/part.slang", f"implementing m;\n{WRONG}")
    project.write("in/m.slang", f"module m;\n// __include part;\n{function('own', 'x * x')}")
    found = report(project, "in/part.slang", "in/m.slang")
    assert verdicts(found) == {
        "": ("in/part.slang", "SKIPPED"), "wrong": ("in/part.slang", "SKIPPED"), "own": ("in/m.slang", "PASS"),
    }  # fmt: skip
    why = "this file is a part of the module 'm', and no file of its folder or a parent folder includes it [SA082]"
    assert {one["reason"] for one in found["results"]} == {why, f"its file can't be checked: {why}", ""}
    project.write("in/m.slang", f"module m;\n__include part;\n{function('own', 'x * x')}")
    assert verdicts(report(project, "in/part.slang", code=3)) == {"wrong": ("in/part.slang", "FAIL")}


def test_functions_that_stand_twice_behind_conditions__are_the_ones_that_slang_reads(project: Project) -> None:
    root = "sqrt(x - 4.0)"
    fast, slow = f"// check: range x 0 1\n{function('two', 'x')}", f"// check: range x 5 6\n{function('two', root)}"
    project.write("main.slang", f"#if FAST\n{fast}#else\n{slow}#endif\n{function('last', 'two(x + 5.0)')}")
    places = {}
    for words in ((), ("-DFAST=1",)):
        found = report(project, "main.slang", *words)
        (two,) = [one for one in found["results"] if one["function"] == "two"]
        assert two["verdict"] == "PASS"
        places[words] = two["span"]["line"]
    assert places == {(): 6, ("-DFAST=1",): 3}


def test_included_files__are_checked_once_by_themselves_or_through_an_includer(project: Project) -> None:
    project.write("in/own.slang", function("own", "3.0 * x * x"))
    project.write("in/needs.slang", function("needs", "SCALE * x * x"))
    project.write("in/far/head.slangh", function("head", "own(x)"))
    main = '#define SCALE 2.0\n#include "needs.slang"\n#include "own.slang"\n#include "far/head.slangh"\n'
    project.write("in/a.slang", main + function("a", "needs(x) * x"))
    project.write("in/b.slang", f'#define SCALE 3.0\n#include "needs.slang"\n{function("b", "needs(x)")}')
    found = report(project, "in")
    files = {"a": "a.slang", "b": "b.slang", "own": "own.slang", "needs": "needs.slang", "head": "far/head.slangh"}
    assert verdicts(found) == {name: (f"in/{file}", "PASS") for name, file in files.items()}
    assert len(found["results"]) == 5
    alone = report(project, "in/far/head.slangh", "in/needs.slang:needs")  # files of their folders include them
    assert verdicts(alone) == {"head": ("in/far/head.slangh", "PASS"), "needs": ("in/needs.slang", "PASS")}


def test_failing_imports__cost_only_what_uses_them_in_a_few_readings(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slangad.compiler.check.tolerances.REPAIR_ROUNDS", 4)
    project.write("deep.slang", "#error needs a macro\npublic float deep(float x) { return x; }\n")
    project.write("mid.slang", f"import deep;\n{function('mid', 'x * x')}")
    project.write("other.slang", f"import mid;\n{function('other', 'x * x')}")
    lines = ["import mid;", "import other;", "import lost.file;"]
    for name, value in {"own": "x * x", "uses": "mid(x) * x", "lost": "gone(x)", "wrong": "int3(x)"}.items():
        lines.append(function(name, value).strip())
    project.write("main.slang", "\n".join(lines))
    found = {one["function"]: one for one in report(project, "main.slang", code=3)["results"]}
    fails, open_ = "FAIL", "INCONCLUSIVE"
    assert {name: one["verdict"] for name, one in found.items()} == {
        "mid": fails, "other": fails, "lost.file": fails, "own": "PASS", "uses": open_, "lost": open_, "wrong": fails,
    }  # fmt: skip
    assert found["mid"]["span"]["line"] == 1
    assert "needs a macro" in found["mid"]["reason"]
    assert found["lost.file"]["reason"].endswith("name the folder that contains lost/file.slang with -I")


def test_compile_of_a_folder__leaves_headers_and_parts_to_the_files_that_include_them(project: Project) -> None:
    project.write("in/head.slangh", function("head", "SCALE * x"))
    project.write("in/part.slang", f"implementing m;\n{function('part', 'x * x')}")
    project.write(
        "in/m.slang", f'module m;\n#define SCALE 2.0\n#include "head.slangh"\n__include part;\n{function("m", "x")}'
    )
    project.run("compile", "in", "-t", "cuda")
    assert {"m.part.forward.cu", "m.m.forward.cu"} <= {*project.files()}
