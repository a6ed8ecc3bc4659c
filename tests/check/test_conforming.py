"""Generic functions whose files have no type with the interface take one of a module nearby."""

from __future__ import annotations

from typing import TYPE_CHECKING

from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.report.model import Result

MAIN = """
import lib.face;
struct Base {}
struct Lobe : Base { float k; [Differentiable] float eval<S : ISampler>(float x, inout S s)
{ return lit(x) * k * no_diff s.next(); } }
[BackwardDerivative(lit_bwd)] float lit(float x) { return x * x; }
void lit_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, FACTOR * x.p * d); }
[Differentiable] float wild<T : INowhere>(float x, T t) { return x * t.k(); }
"""
FILES = {
    "lib/face.slang": "interface ISampler { [mutating] float next(); }\ninterface INowhere { float k(); }\n",
    "lib/a_broken.slang": "import face;\nstruct Bad : ISampler { [mutating] float next() { return missing; } }\n",
    "lib/b_good.slang": "import face;\nstruct Counter : ISampler\n"
    "{ uint n; [mutating] float next() { n += 1; return n; } }\n",
}


def run(folder: Path, factor: str, **options: object) -> dict[str, Result]:
    for name, text in {**FILES, "main.slang": MAIN.replace("FACTOR", factor)}.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    return by_name(check(parse_inputs([str(folder / "main.slang")]), CheckOptions(samples=16, **options)))  # type: ignore[arg-type]  # named by tests


def test_check__an_interface_without_types_in_the_files__takes_one_of_its_folder(tmp_path: Path) -> None:
    results = run(tmp_path, "2.0")
    right = results["Lobe.eval<Counter>"]
    assert right.verdict is Verdict.PASS, right.reason
    (note,) = [note.message for note in right.notes if "ISampler" in note.message]
    assert note.endswith("b_good.slang is imported, which has some")
    assert results["wild"].verdict is Verdict.SKIPPED
    assert "no type in its files fits" in results["wild"].reason


def test_check__a_mistake_behind_a_type_of_another_module__is_located(tmp_path: Path) -> None:
    results = run(tmp_path, "2.5")
    assert results["lit"].verdict is Verdict.FAIL
    assert not results["Lobe.eval<Counter>"].verdict.good
    span = results["lit"].failures[0].span
    assert span is not None
    assert (span.file, span.line) == (str(tmp_path / "main.slang"), 7)


def test_check__types_in_the_folders_of_imports__are_found_behind_those_of_the_interface(tmp_path: Path) -> None:
    far = tmp_path / "far"
    (far / "deep").mkdir(parents=True)
    (far / "deep" / "fixed.slang").write_text(
        "struct Fixed : INowhere { float a; float k() { return a; } }\nimport lib.face;\n"
    )
    results = run(tmp_path / "own", "2.0", include_dirs=(str(tmp_path / "own"), str(far)), only=("wild",))
    (wild,) = results.values()
    assert (wild.function, wild.verdict) == ("wild<Fixed>", Verdict.PASS)


SHAPES = """
interface IShape : IDifferentiable { [Differentiable] float at(float3 p); }
struct Ball : IShape { float r; [Differentiable] float at(float3 p) { return dot(p, p) - r * r; } }
[Differentiable] float far(IShape s, float3 p) { return s.at(p); }
[Differentiable] float near<T : IShape>(T s, float3 p) { return s.at(p); }
"""


def test_check__vectors_through_a_parameter_of_an_interface__has_the_generic_function_as_remedy(tmp_path: Path) -> None:
    (tmp_path / "shapes.slang").write_text(SHAPES, encoding="utf-8")
    results = by_name(check(parse_inputs([str(tmp_path / "shapes.slang")]), CheckOptions(samples=16)))
    assert results["near<Ball>"].verdict is Verdict.PASS
    assert (
        "createSet called with non-global operands" in results["far"].reason
    )  # a version that compiles it needs no remedy
    assert (
        results["far"]
        .failures[0]
        .cause.endswith("make the function generic, f<T : IShape>(T shape) in place of f(IShape shape)")
    )
