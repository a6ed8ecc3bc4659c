"""``slangad check`` of overloads: every report, ``--only`` and ``--range`` tell them apart; nothing else changes."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ALONE = """
[Differentiable] float f(float x) { return x * x; }
"""
OVERLOADS = f"""
[BackwardDerivative(wrong_bwd)] [Differentiable] float f(float3 x) {{ return x.x * x.y; }}
void wrong_bwd(inout DifferentialPair<float3> x, float d) {{ x = diffPair(x.p, x.p * d); }}
[Differentiable] float g(float x) {{ return x * x * x; }}
{ALONE}"""
METHODS = """
struct S : IDifferentiable
{
    float a;
    [Differentiable] float at(float x) { return a * x; }
    [Differentiable] float at(float x, no_diff float y) { return a * x * y; }
    float at(float3 x) { return a * x.x; }
    [BackwardDerivative(wrong_bwd)] [Differentiable] float at(float2 x) { return a * x.x * x.y; }
    static void wrong_bwd(inout DifferentialPair<S> s, inout DifferentialPair<float2> x, float d)
    {
        S.Differential g;
        g.a = 2.0 * x.p.x * x.p.y * d;
        s = diffPair(s.p, g);
        x = diffPair(x.p, s.p.a * x.p.yx * d);
    }
    [Differentiable] static float of(float x) { return x * x; }
    [Differentiable] static float of(float2 x) { return x.x * x.y; }
    [Differentiable, mutating] void set(float x) { a = a * x; }
    [Differentiable, mutating] void set(float x, out float y, float k[2]) { y = a * k[1]; a = x * k[0]; }
    [Differentiable, NoDiffThis] float still(float x) { return a * x; }
    [Differentiable, NoDiffThis] float still(float2 x) { return a * x.x * x.y; }
    [ForwardDifferentiable] float onward(float x) { return a * x; }
    [ForwardDifferentiable] float onward(float2 x) { return a * x.x * x.y; }
    [Differentiable] float turns(float x, int n)
    {
        float y = x;
        [MaxIters(2)] for (int i = 0; i < n; ++i)
            y = y * y * a + x;
        return y;
    }
    [Differentiable] float turns(float x) { return a * x; }
}
"""
GENERICS = """
[Differentiable] T f<T : IFloat>(T x) { return x * x; }
T f<T : IFloat>(vector<T, 2> x) { return x.x * x.y; }
// range: x 2 3
[Differentiable] T f<T : IFloat>(vector<T, 3> x) { return x.x * x.y; }
[Differentiable] float f(float x, int n) { return x; }
struct S<T : IFloat> : IDifferentiable
{
    float a;
    [Differentiable] T at(T x) { return x * x; }
    [Differentiable] T at(vector<T, 2> x) { return x.x * x.y; }
    [Differentiable] static T of<U : IFloat>(T x, U y) { return x * x; }
    [Differentiable] static T of<U : IFloat>(T x) { return x * x; }
}
[Differentiable] T same<T : IFloat>(T x) { return x * x; }
[Differentiable] T same<T : IArithmetic>(T x) { return x * x; }
[Differentiable] float same(float x, inout float y) { return x * y; }
[Differentiable] float same(float x, float y) { return x * y; }
[Differentiable] T sized<T : IFloat>(T x) { return x * x; }
[Differentiable] T sized<T : IFloat, let N : int>(T x) { return x * x; }
"""
BROKEN = """
[Differentiable] float f(no_diff float x, inout float k) { k *= k; return x * k; }
[Differentiable] float f(vector<float, 3> v, float w[2]) { return v.x * w[0] * missing; }
[Differentiable] float f<T : IFloat>(T x, int n = 3) { return 1.0; }
[Differentiable] float g<T : IFloat>(T x) { return 1.0; }
[Differentiable] float g<T : IDifferentiable>(T x) { return 1.0; }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "f.slang").write_text(OVERLOADS, encoding="utf-8")
    (tmp_path / "alone.slang").write_text(ALONE, encoding="utf-8")
    (tmp_path / "methods.slang").write_text(METHODS, encoding="utf-8")
    (tmp_path / "generics.slang").write_text(GENERICS, encoding="utf-8")
    (tmp_path / "broken.slang").write_text(BROKEN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["check", *words])


def results(*words: str) -> dict[str, dict[str, Any]]:
    """The results by their names, no two of which are the same."""
    found: list[dict[str, Any]] = json.loads(run(*words, "--format", "json").stdout)["results"]
    named = {one["function"]: one for one in found}
    assert len(named) == len(found)
    return named


def drawn(result: dict[str, Any]) -> list[Any]:
    return [sample["inputs"] for sample in result["samples"]]


def test_overloads__every_report__tells_them_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    kinds = ("json", "junit", "sarif", "github", "html")
    text = run("f.slang", *(f"--report={kind}={kind}" for kind in kinds), "--report=github=again").stdout
    assert (folder / "summary.md").read_text(encoding="utf-8").count("## Gradient check") == 1
    made = {kind: (folder / kind).read_text(encoding="utf-8") for kind in kinds}
    assert "FAIL              f(float3)" in text
    assert "PASS              f(float) " in text
    assert "PASS              g " in text
    assert [one["function"] for one in json.loads(made["json"])["results"]] == ["f(float3)", "g", "f(float)"]
    cases = [case.get("name") for case in ElementTree.fromstring(made["junit"]).iter("testcase")]
    assert cases == ["f(float3)", "g", "f(float)"]
    wrong = json.loads(made["sarif"])["runs"][0]["results"]
    assert {one["locations"][0]["logicalLocations"][0]["name"] for one in wrong} == {"f(float3)"}
    assert "title=FAIL f(float3)::" in made["github"]
    assert "f(float3)" in made["html"]
    assert "f(float)" in made["html"]


def test_overloads__the_command_that_reproduces_a_failure__checks_just_that_one(folder: Path) -> None:
    failed = results("f.slang")["f(float3)"]
    words = shlex.split(failed["failures"][0]["reproduce"])
    assert words[-2:] == ["--only", "f(float3)"]
    assert drawn(results(*words[2:])["f(float3)"]) == drawn(failed)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["f.slang", "--only", "f(float)"], {"f(float)"}),
        (["f.slang", "--only", "f"], {"f(float3)", "f(float)"}),
        (["f.slang:f"], {"f(float3)", "f(float)"}),
        (["alone.slang", "--only", "f"], {"f"}),
    ],
)
def test_overloads__a_name__chooses_the_one_or_all_of_them(folder: Path, words: list[str], names: set[str]) -> None:
    assert set(results(*words)) == names


def test_overloads__a_signature_that_none_has__is_a_usage_error_that_names_a_near_one(folder: Path) -> None:
    result = run("f.slang", "--only", "f(float2)")
    assert result.exit_code == 2
    assert "Did you mean 'f(" in result.stderr


def test_overloads__a_range__is_of_the_one_or_of_all(folder: Path) -> None:
    found = results("f.slang", "--range", "f.x=2:3", "--range", "g.x=-3:-2")
    assert all(
        2 <= value["value"] <= 3 for name in ("f(float)", "f(float3)") for row in drawn(found[name]) for value in row
    )
    found = results("f.slang", "--range", "f(float3).x=2:3")
    assert all(2 <= value["value"] <= 3 for row in drawn(found["f(float3)"]) for value in row)
    assert any(value["value"] < 0 for row in drawn(found["f(float)"]) for value in row)


def test_overloads__another_of_its_name__changes_no_samples(folder: Path) -> None:
    found = results("f.slang")
    assert drawn(found["f(float)"]) == drawn(results("alone.slang")["f"])


def test_overloads__of_methods__are_each_checked(folder: Path) -> None:
    found = results("methods.slang", "--samples", "16")
    wrong = {name: one["failures"][0]["message"] for name, one in found.items() if one["verdict"] != "PASS"}
    assert wrong == {
        "S.at(float2)": "d result / d self.a in reverse mode is wrong",
        "S.turns(float, int)": "a loop runs more iterations than [MaxIters] declares: "
        "reverse mode has no memory for the others",
    }
    assert len(found) == 13


def test_overloads__of_methods__have_all_kernels(folder: Path) -> None:
    made = CliRunner().invoke(cli, ["compile", "methods.slang", "-o", "out"])
    assert made.exit_code == 0
    left_out = [line for line in made.stderr.splitlines() if "left out" in line]
    assert len(left_out) == 2
    assert all("the backward kernel of S.onward" in line for line in left_out)
    assert len(list((folder / "out").glob("*.spv"))) == 3 * 13 - 2


def test_overloads__generic_ones_with_arguments__are_each_checked(folder: Path) -> None:
    asked = (f"--specialize={name}" for name in ("f<float>", "S<float>.at", "S<float>.of<float>", "same<float>"))
    found = results("generics.slang", *asked, "--samples", "16")
    assert {name for name, one in found.items() if one["verdict"] == "PASS"} == {
        "f<float>(T)",
        "f<float>(vector<T, 3>)",
        "f",
        "S<float>.at(T)",
        "S<float>.at(vector<T, 2>)",
        "S<float>.of<float>(T, U)",
        "S<float>.of<float>(T)",
        *(f"sized<float, {n}>" for n in range(1, 5)),
    }
    assert "rename the others" in found["sized"]["reason"]
    assert [name for name, one in found.items() if "rename one" in one["reason"]] == [
        "same<float>#1",
        "same<float>#2",
        "same(float, inout float)",
        "same(float, float)",
    ]
    drawn_in = [value["value"] for row in drawn(found["f<float>(vector<T, 3>)"]) for value in row]
    assert all(2 <= value <= 3 for value in drawn_in)


def test_overloads__generic_ones_with_arguments__are_compiled_or_refused(folder: Path) -> None:
    made = CliRunner().invoke(cli, ["compile", "generics.slang", "--specialize=f<float>", "-o", "out"])
    assert made.exit_code == 0
    assert len(list((folder / "out").glob("generics.f_float_*.spv"))) == 2 * 3
    refused = CliRunner().invoke(cli, ["compile", "generics.slang", "--specialize=sized<float>", "-o", "out"])
    assert refused.exit_code == 1
    assert "generics.slang:19:20: error[SA083]: Slang can't make 'sized<float>'" in refused.stderr
    assert "rename the others" in refused.stderr


def test_overloads__what_does_not_compile_or_is_skipped__is_told_apart_too(folder: Path) -> None:
    found = results("broken.slang")
    assert {name: one["verdict"] for name, one in found.items()} == {
        "f(float, inout float)": "PASS",
        "f(vector<float, 3>, float[2])": "FAIL",
        "f<float>": "PASS",
        "g<float>#1": "SKIPPED",
        "g<float>#2": "SKIPPED",
    }
    assert set(results("broken.slang", "--only", "g<float>#2")) == {"g<float>#2"}
