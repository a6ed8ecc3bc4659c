"""Failures are located at the wrong statement of a custom derivative, with the function as related location."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.check_text import render_check
from slangad.compiler.report.github import workflow_commands
from slangad.compiler.report.html import html_page
from slangad.compiler.report.model import Verdict
from slangad.compiler.report.sarif import sarif_json
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from check.conftest import Checked

    from slangad.compiler.report.model import Result

PLANTED = Path(__file__).parent / "slang" / "planted.slang"
FORMS = PLANTED.with_name("planted_forms.slang")


def _misses(results: dict[str, Result], text: str) -> dict[str, str]:
    """Return the failures whose location is not in a line that is marked, or lies in the function itself."""
    lines = text.splitlines()
    return {
        name: str(failure.span)
        for name, result in results.items()
        if not result.because
        for failure in result.failures
        if not any("planted" in line for line in lines[failure.span.line - 1 : failure.span.end_line])
    }


def test_check__mistakes_in_slang_derivatives__are_located_in_their_lines() -> None:
    files = [str(PLANTED), str(FORMS)]
    report = check(parse_inputs(files), CheckOptions(samples=48, cache=default_cache()))
    results = by_name(report)
    for file in files:
        of_file = {name: one for name, one in results.items() if Path(one.file).name == Path(file).name}
        assert _misses(of_file, Path(file).read_text(encoding="utf-8")) == {}
    assert {name for name, one in results.items() if one.verdict is not Verdict.FAIL} == {"helper", "turned_again"}
    assert {name: one.because for name, one in results.items() if one.because} == {
        "ratio(float3, float)": ("ratio(float, float)",)
    }
    causes = {name: one.failures[0].cause for name, one in results.items() if one.failures}
    beside = "a term is missing beside this line: no statement "
    assert causes["output"] == f"{beside}for this gradient reads d.depth"
    assert causes["short_view"] == f"{beside}for this gradient reads d.z"
    assert causes["weighted"] == f"{beside}stores the gradient's third"
    assert causes["fetch_short"].startswith(f"{beside}stores the gradient's position.")
    assert causes["moments"].startswith("this store overwrites what line ")
    assert causes["displaced"] == f"{beside}for this gradient reads d.position.z"
    assert causes["turned"] == "the derivative differentiates turned_again, which ends a gradient here"

    result = results["sign_of_a_term"]
    (failure,) = result.failures
    line = failure.span.line + 2
    assert f"the same values depend on line {line}, which may be wrong instead" in failure.notes
    assert f"{failure.span}: FAIL sign_of_a_term" in render_check(report)
    assert f"  function   {result.span}" in render_check(report)
    annotation = next(line for line in workflow_commands(report).splitlines() if "sign_of_a_term" in line)
    assert f"line={failure.span.line},endLine={failure.span.end_line}," in annotation
    assert str(failure.span) in html_page(report)
    (run,) = json.loads(sarif_json(report))["runs"]
    found = next(one for one in run["results"] if one["message"]["text"].startswith("sign_of_a_term"))
    regions = [
        one["physicalLocation"]["region"]["startLine"] for one in (*found["locations"], *found["relatedLocations"])
    ]
    assert regions[:2] == [failure.span.line, result.span.line]
    assert found["relatedLocations"][0]["message"]["text"] == "the function"


DESCRIBED = """
import slangad as sa
from slangad import float3


@sa.differentiable
def tone(x: float, k: float, n: sa.NoDiff[float]) -> float:
    return x * n / (1.5 + k)


@tone.backward
def tone_backward(x, k, n, d_out):
    s = 1.5 + k
    gx = d_out / s
    gk = d_out * x / (s * s)  # planted
    return gx * n, gk * n


@sa.differentiable
def returned(v: float3, x: float) -> float:
    return sa.dot(v, v) * x


@returned.backward
def returned_backward(v, x, d_out):
    return (
        2.0 * v * x * d_out,
        sa.dot(v, v) * d_out * 1.5,  # planted
    )


@sa.differentiable
def chosen(x: float) -> float:
    return x * x if x > 0.0 else x * x * x


@chosen.backward
def chosen_backward(x, d_out):
    slope = 2.0 * x
    if x < 0.0:
        slope = x * x * 2.0  # planted
    return slope * d_out
"""


def test_check__mistakes_in_described_derivatives__are_located_in_their_lines(checked: Checked) -> None:
    results = checked(DESCRIBED, samples=48)
    assert {one.verdict for one in results.values()} == {Verdict.FAIL}
    assert _misses(results, DESCRIBED) == {}


def test_check__a_trap_of_slang__is_located_in_its_line(checked: Checked) -> None:
    body = "    float s = 2.0;\n    return pow(-1.0, i) * x * s;\n"
    text = f"[Differentiable]\nfloat alternating(float x, int i)\n{{\n{body}}}\n"
    result = checked(text, ".slang", samples=32)["alternating"]
    assert {failure.span.line for failure in result.failures} == {5}


INCLUDED = """struct Pair : IDifferentiable { float a; float b; }
[Differentiable] Pair operator +(Pair a, Pair b) { return { a.a + b.a, a.b + b.b }; }
[Differentiable] float sum(Pair a, Pair b) { return a.a + b.b; }
"""
INCLUDES = """#include "pair.slang"
struct Three : IDifferentiable { float x; float y; float z; }
[Differentiable] Three operator +(Three a, Three b) { return { a.x + b.x, a.y + b.y, a.z + b.z }; }
[Differentiable] float sum(Three a, Three b) { return a.x + b.z; }
[Differentiable] float sum(float a, float b) { return a * b; }
"""


def test_check__overloads_in_two_files__are_located_by_their_types(checked: Checked, tmp_path: Path) -> None:
    (tmp_path / "pair.slang").write_text(INCLUDED)
    results = checked(INCLUDES, ".slang", samples=16)
    places = {name: (Path(one.span.file).name, one.span.line) for name, one in results.items() if one.span}
    assert places == {
        "operator+(Pair, Pair)": ("pair.slang", 2),
        "sum(Pair, Pair)": ("pair.slang", 3),
        "operator+(Three, Three)": ("subject.slang", 3),
        "sum(Three, Three)": ("subject.slang", 4),
        "sum(float, float)": ("subject.slang", 5),
    }
    assert {one.verdict for one in results.values()} == {Verdict.PASS}
