"""Own derivatives broken on purpose: the check notices every break that makes a difference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli
from slangad.compiler.check.check_mutants import check_mutants
from slangad.compiler.check.mutation.surviving import mutation_lines, survivors
from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

SAMPLES = Path(__file__).parents[2] / "samples"

IDLE = """
import slangad as sa


@sa.differentiable
def f(x: float, y: float) -> float:
    return x * y


@f.backward
def f_bwd(x, y, d_out):
    return y * d_out + 0.0 * x, x * d_out
"""


@pytest.mark.parametrize("name", ["quickstart/brdf.py", "root/kepler.py", "root/kepler.yaml"])
def test_mutate__own_derivatives_of_the_samples__are_all_noticed(name: str) -> None:
    report = check(parse_inputs([str(SAMPLES / name)]), CheckOptions(mutate=True))
    assert len(report.results) >= 10
    assert not [result.function for result in survivors(report)]


def test_mutate__a_change_without_effect__survives_and_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.py").write_text(IDLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["check", "f.py", "--mutate"])
    assert result.exit_code == 0
    shown = """f.py: survived as PASS: f: term dropped in line 12, column 24
  12 |     return y * d_out + 0.0 * x, x * d_out
     |                        ^
  why: the operand behind the operator is 0 at every sample, or below 5e-7 of the derivative
"""
    assert shown in result.stdout
    assert "makes no difference at any sample" in result.stdout
    strict = CliRunner().invoke(cli, ["check", "f.py", "--mutate", "--strict", "--format", "json"])
    assert strict.exit_code == 3
    document = json.loads(strict.stdout)
    assert 0 < document["killed"] < len(document["mutants"])
    exchanged = next(one for one in document["mutants"] if one["mutant"].endswith("column 24: + becomes -"))
    assert exchanged["text"] == "    return y * d_out + 0.0 * x, x * d_out"
    assert exchanged["why"].startswith("the operand behind the operator is 0 at every sample")


PARTS = """
import slangad as sa


@sa.struct
class Lobe:
    sharp: float
    weight: float

    @sa.differentiable
    def at(self, x: float) -> float:
        return self.weight * x * x + self.sharp

    @at.backward
    def at_bwd(self, x, d_out):
        return Lobe(sharp=d_out, weight=x * x * d_out), 2.0 * self.weight * x * d_out


@sa.differentiable
def branched(x: float) -> float:
    return x * x if x > 0.5 else x


@branched.backward
def branched_bwd(x, d_out):
    if x > 0.5:
        return 2.0 * x * d_out
    return d_out


@sa.differentiable
def cubed(x: float) -> float:
    return x * x * x


@cubed.forward
def cubed_fwd(x):
    return sa.diff_pair(x.p * x.p * x.p, 3.0 * x.p * x.p * x.d)
"""


def test_mutate__methods_fields_returns_and_forward_functions__are_broken_and_noticed(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(PARTS, encoding="utf-8")
    report = check_mutants(parse_inputs([str(tmp_path / "f.py")]), CheckOptions(mutate=True))
    names = {result.function for result in report.results}
    assert {
        "Lobe.at: gradient 1 (weight) negated in line 16",
        "branched: gradient 1 dropped in line 28",
        "cubed: forward: tangent doubled in line 38",
    } <= names
    assert not [result.function for result in survivors(report)]


def test_mutate__a_forward_function_that_is_not_linear__is_noticed(checked: Checked) -> None:
    text = PARTS.replace("3.0 * x.p * x.p * x.d", "3.0 * x.p * x.p / x.d")
    assert checked(text)["cubed"].verdict is Verdict.FAIL


def test_mutate__hand_written_slang__is_broken_and_noticed_and_what_was_left_alone_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parent / "slang")
    result = CliRunner().invoke(cli, ["check", "own.slang", "--mutate", "--format", "json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["killed"] == len(document["mutants"]) >= 30
    assert {
        "product: gradients 1 and 2 swapped in line 22",
        "product: accumulation forgotten in line 21, column 7",
        "cubed: forward: gradient 1 times 1.001 in line 32",
        "mixed: term dropped in line 47, column 34",
    } <= {one["mutant"] for one in document["mutants"] if one["killed"]}
    left = {one["name"]: one["reason"] for one in document["not_mutated"]}
    assert left["elsewhere: not mutated"] == "its derivative 'elsewhere_bwd' is not in this file"
    assert left["mixed: gradient 1 negated in line 46"] == "it does not compile then"


def test_mutate__what_was_left_alone__is_told_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent / "slang")
    result = CliRunner().invoke(cli, ["check", "own.slang:mixed", "--mutate"])
    assert result.exit_code == 0
    assert "own.slang: mixed: gradient 1 negated in line 46: it does not compile then" in result.stdout
    assert "own.slang: elsewhere: not mutated" in result.stdout


def test_mutate__what_an_imported_file_describes__is_named_as_left_alone(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(PARTS, encoding="utf-8")
    text = """
import parts
import slangad as sa


@sa.differentiable
def f(v: sa.Array[float, 2], x: float) -> float:
    return parts.cubed(v[0]) * v[1] * x


@f.backward
def f_bwd(v, x, d_out):
    return sa.bwd_diff(g)(v, x, d_out)


@sa.differentiable
def g(v: sa.Array[float, 2], x: float) -> float:
    return parts.cubed(v[0]) * v[1] * x
"""
    (tmp_path / "f.py").write_text(text, encoding="utf-8")
    report = check_mutants(parse_inputs([str(tmp_path / "f.py")]), CheckOptions(mutate=True))
    told = list(mutation_lines(report))
    assert any("cubed: not mutated: it stands in" in line for line in told)
    assert any("f: not mutated: nothing in its derivative" in line for line in told)


RARE = """
import slangad as sa


@sa.differentiable(ranges={"x": (0.5, 2.0)})
def f(x: float, y: float) -> float:
    return x + y


@f.backward
def f_bwd(x, y, d_out):
    if x < 0.4:
        return d_out * x, d_out
    return d_out, d_out


@sa.differentiable
def g(x: float, y: float) -> float:
    return x * x


@g.backward
def g_bwd(x, y, d_out):
    return d_out * 2.0 * x, 0.0 * (d_out + y)
"""


RARE_SLANG = """
[BackwardDerivative(f_bwd)]
[Differentiable]
float f(float x, float y) { return x * x + 0.0 * y; }
void f_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{
    float t = 2.0 * x.p;
    if (x.p > 7e6)
        t = x.p - y.p;
    float s = 0.0;
    s += t * d;
    x = diffPair(x.p, s);
    y = diffPair(y.p, 0.0);
}
"""
ZERO = "is 0 at every sample, or below 5e-7 of the derivative"


@pytest.mark.parametrize(
    ("name", "text", "reasons"),
    [
        (
            "f.py",
            RARE,
            {
                "f: gradient 2 negated in line 13": "no sample gets there, or nothing depends on it",
                "f: operator exchanged in line 13, column 24: * becomes /": "no sample gets there",
                "f: gradients 1 and 2 swapped in line 14": "both are the same at every sample",
                "g: gradient 2 doubled in line 24": f"it {ZERO}",
                "g: term dropped in line 24, column 44": f"the value that it changes {ZERO}",
            },
        ),
        (
            "f.slang",
            RARE_SLANG,
            {
                "f: gradient 2 dropped in line 13": f"it {ZERO}",
                "f: operator exchanged in line 9, column 17: - becomes +": "no sample gets there",
                "f: accumulation forgotten in line 11, column 7": f"the value that it adds to {ZERO}",
            },
        ),
    ],
)
def test_mutate__survivors__have_the_reason(tmp_path: Path, name: str, text: str, reasons: dict[str, str]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    report = check_mutants(parse_inputs([str(tmp_path / name)]), CheckOptions(mutate=True))
    told = {result.function: result.reason for result in survivors(report)}
    assert all(told.values())
    for mutant, reason in reasons.items():
        assert told[mutant].startswith(reason)


WRONG = """
import slangad as sa


@sa.differentiable
def f(x: float, y: float) -> float:
    return x * x + y


@f.backward
def f_bwd(x, y, d_out):
    return -2.0 * x * d_out, d_out
"""
WRONG_SLANG = """
[BackwardDerivative(f_bwd)] [Differentiable] float f(float x) { return x * x; }
void f_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, -2.0 * x.p * d); }
"""


@pytest.mark.parametrize(("name", "text"), [("f.py", WRONG), ("f.slang", WRONG_SLANG)])
def test_mutate__a_change_that_corrects_a_wrong_derivative__is_no_survivor(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    report = check_mutants(parse_inputs([str(tmp_path / name)]), CheckOptions(mutate=True))
    assert not survivors(report)
    corrected = [line for line in mutation_lines(report) if "wrong without this change" in line]
    assert len(corrected) == 1
    assert "f: gradient 1 negated in line" in corrected[0]


TWO = """
import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    return x * x


@f.backward
def f_bwd(x, d_out):
    return 2.0 * x * d_out


@sa.differentiable
def g(x: float) -> float:
    return x * x * x


@g.backward
def g_bwd(x, d_out):
    return 3.0 * x * x * d_out
"""


@pytest.mark.parametrize("words", [["two.py", "--only", "f"], ["two.py:f"], ["two.py", "--range", "f.x=1:2"]])
def test_mutate__one_name__breaks_only_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    (tmp_path / "two.py").write_text(TWO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["check", *words, "--mutate", "--format", "json"])
    assert result.exit_code == 0, result.output
    owners = {one["mutant"].partition(":")[0] for one in json.loads(result.stdout)["mutants"]}
    assert owners == ({"f", "g"} if "--range" in words else {"f"})


OVERLOADS = """
[BackwardDerivative(f_bwd)] [Differentiable] float f(float x) { return x < 2e6 ? 0 : x * x; }
void f_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, x.p < 2e6 ? 0 : 2 * x.p * d); }
[BackwardDerivative(f3_bwd)] [Differentiable] float f(float3 x) { return x.x; }
void f3_bwd(inout DifferentialPair<float3> x, float d) { x = diffPair(x.p, float3(d, 0, 0)); }
[BackwardDerivative(g_bwd)] [Differentiable] float g(float x) { return x; }
void g_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }
"""


@pytest.mark.parametrize(
    ("words", "tried", "found"),
    [
        (["--only", "f(float)"], {"f(float)"}, 0),
        (["--only", "f(float)", "--range", "f(float).x=3e6:4e6"], {"f(float)"}, 1),
        (["--only", "f(float)", "--range", "f.x=3e6:4e6"], {"f(float)"}, 1),
        (["--only", "f(float)", "--range", "g.x=3:4"], {"f(float)"}, 0),
        (["--only", "f", "--range", "f(float3).x=3:4"], {"f(float)", "f(float3)"}, 0),
        (["--range", "f(float).x=3e6:4e6"], {"f(float)", "f(float3)", "g"}, 1),
    ],
)
def test_mutate__overloads_of_a_slang_file__are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], tried: set[str], found: int
) -> None:
    (tmp_path / "f.slang").write_text(OVERLOADS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["check", "f.slang", "--mutate", "--format", "json", "--samples", "16", *words])
    mutants = json.loads(result.stdout)["mutants"]
    assert {one["mutant"].partition(": ")[0] for one in mutants} == tried
    doubled = next(one for one in mutants if one["mutant"].startswith("f(float): gradient 1 doubled"))
    assert doubled["killed"] == bool(found)


@pytest.mark.parametrize("words", [["--only", "f(float2)"], ["--range", "f(float).y=0:1"], ["--range", "h.x=0:1"]])
def test_mutate__what_no_slang_file_has__is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "f.slang").write_text(OVERLOADS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["check", "f.slang", "--mutate", *words])
    assert result.exit_code == 2
    assert "None of the inputs has" in result.stderr


def test_mutate__one_name_of_a_slang_file__breaks_only_that(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(__file__).parent / "slang" / "own.slang"
    monkeypatch.chdir(own.parent)
    name = "product"
    result = CliRunner().invoke(cli, ["check", own.name, "--only", name, "--mutate", "--format", "json"])
    assert result.exit_code == 0, result.output
    assert {one["mutant"].partition(":")[0] for one in json.loads(result.stdout)["mutants"]} == {name}
    assert CliRunner().invoke(cli, ["check", own.name, "--only", "nothing", "--mutate"]).exit_code == 2
    assert CliRunner().invoke(cli, ["check", f"{own.name}:nothing", "--mutate"]).exit_code == 2
