"""How many samples, and with which seed: said in files, for a function or for all; the command line wins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.ir.text_form.printer import parse, show

if TYPE_CHECKING:
    from pathlib import Path

DESCRIBED = """
import slangad as sa


@sa.differentiable(check={"samples": 40, "seed": 7})
def f(x: float) -> float:
    return x * x


@sa.differentiable
def g(x: float) -> float:
    return x * x


@sa.kernel(check={"samples": 50})
def k(x: sa.Each[float]) -> sa.Each[float]:
    return f(x)


@sa.pipeline(check={"seed": 3})
def p(x: sa.Each[float]) -> sa.Each[float]:
    return k(x)
"""
YAML = """
slangad: 1
functions:
  f: {params: {x: float}, returns: float, body: return x * x}
  g: {params: {x: float}, returns: float, body: return x * x}
structs:
  M:
    fields: {a: float}
    methods:
      h: {params: {x: float}, returns: float, body: return self.a * x}
kernels:
  k: {params: {x: each float}, returns: each float, body: return f(x)}
check:
  samples: {f: 40, k: 50, M.h: 60}
  seed: 7
"""


def _check(*words: str) -> dict[str, tuple[int, int]]:
    """The seed and how many random samples each function got."""
    said = CliRunner().invoke(cli, ["check", *words, "--format", "json"])
    assert said.exit_code == 0, said.output
    results = json.loads(said.stdout)["results"]
    return {r["function"]: (r["seed"], sum(sample["origin"] == "random" for sample in r["samples"])) for r in results}


def test_python__check_says_samples_and_seed__each_function_gets_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(DESCRIBED)
    assert _check(str(path)) == {"f": (7, 40), "g": (0, 128), "k": (0, 50), "p": (3, 128)}
    assert _check(str(path), "--samples", "20", "--seed", "5", "--only", "f") == {"f": (5, 20)}


def test_yaml__check_says_samples_and_seed__of_each_or_all(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(YAML)
    assert _check(str(path)) == {"f": (7, 40), "g": (7, 128), "M.h": (7, 60), "k": (7, 50)}
    path.write_text(YAML.replace("seed: 7", "seed: {g: 9}"))
    assert _check(str(path), "--only", "g", "--only", "f") == {"f": (0, 40), "g": (9, 128)}


def test_check__samples_and_seed_of_a_file__stand_in_the_command_that_reproduces(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(YAML.replace("  f: {", "  f: {backward: 'return 3.0 * x * d_out', "))
    said = CliRunner().invoke(cli, ["check", str(path), "--only", "f"])
    assert f"slangad check --seed 7 --samples 40 {path} --only f" in said.stdout


def test_ir__what_was_said_about_samples__is_in_its_text(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(DESCRIBED)
    module = load(path)
    assert len(module.sampling) == 3
    assert parse(show(module)).sampling == module.sampling


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("M.h: 60", "M.h: 0", "SA055"),
        ("M.h: 60", "nothing: 60", "SA064"),
        ("M.h: 60", "M.nothing: 60", "SA064"),
        ("seed: 7", "seed: -1", "SA055"),
        ("seed: 7", "seed: {f.x: 1, g: 1.5}", "SA055"),
        ("seed: 7", "strict: true", "SA053"),
    ],
)
def test_yaml__a_wrong_number_or_name__is_an_error_at_it(tmp_path: Path, before: str, after: str, code: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(YAML.replace(before, after))
    with pytest.raises(CompileError) as caught:
        load(path)
    assert code in {one.code for one in caught.value.diagnostics}
    assert {one.span.line for one in caught.value.diagnostics} <= {14, 15}


@pytest.mark.parametrize("said", ['{"samples": 0}', '{"seed": "x"}', '{"sample": 1}', "5", '{"samples": 10000000}'])
def test_python__check_says_nonsense__is_an_error_at_its_argument(tmp_path: Path, said: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(DESCRIBED.replace('{"samples": 50}', said))
    with pytest.raises(CompileError, match="check= of k"):
        load(path)


KINKED = """
// range: x -2 2
[Differentiable] float kinked(float x) { return frac(x) * x; }
// range: x 1e10 1e20
// range: y 1e-15 1e-12
[Differentiable] float large(no_diff float x, float y) { return x / y; }
"""


def test_check__every_function__says_how_far_float32_was_tested(tmp_path: Path) -> None:
    path = tmp_path / "a.slang"
    path.write_text(KINKED)
    said = CliRunner().invoke(cli, ["check", str(path), "--format", "json"])
    for result in json.loads(said.stdout)["results"]:
        tested = result["float32"]
        assert tested["device"] == "cpu"
        assert tested["samples"] + sum(one["samples"] for one in tested["left"]) == result["counts"]["drawn"]
        wanted = {"kinked": "at a kink or a jump", "large": "with derivatives above 1e+37"}[result["function"]]
        assert wanted in {one["reason"] for one in tested["left"]}
    said = CliRunner().invoke(cli, ["-v", "check", str(path), "--only", "kinked"])
    assert " at a kink or a jump\n" in said.stdout
