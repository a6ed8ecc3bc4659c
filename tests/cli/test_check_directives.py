"""What users declare about the check of a function: lines above it in Slang, and keys of the project."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cli.conftest import Project

SLANG = """
struct Splat : IDifferentiable { float3 mean; float scale; }

// check: range s.mean 0.5 0.75
// check: range k 1 2
[Differentiable] float sum(Splat s[2], float a) { return (s[0].mean.x * s[0].scale + s[1].mean.z) * a; }

// check: skip the host draws it
[Differentiable] float drawn(float x) { return x; }

// check: expect fail the sign
[BackwardDerivative(bad_bwd)]
[Differentiable] float bad(float x) { return x * x; }
void bad_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, -2 * x.p * d); }

// check: expect fail nothing
[Differentiable] float good(float x) { return x * x; }

// check: mode backward
[ForwardDerivative(lame_fwd)]
[Differentiable] float lame(float x) { return x * x; }
DifferentialPair<float> lame_fwd(DifferentialPair<float> x) { return diffPair(x.p * x.p, x.d); }

// check: tolerence 1e-3
// check: mode sideways
// check: skip
// check: range x 1 2 3
[Differentiable] float typo(float x) { return x * x; }

// check: tolerance 1e-2
[BackwardDerivative(near_bwd)]
[Differentiable] float near(float x) { return x * x; }
void near_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.001 * x.p * d); }

// check: tolerance 1e-2
[BackwardDerivative(far_bwd)]
[Differentiable] float far(float x) { return x * x; }
void far_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.1 * x.p * d); }

// check: skip it needs a library that is not here
[Differentiable] float broken(float x) { return nowhere(x); }

// check: skip nothing
float plain(float x) { return x; } // check: nothing is said here
"""

PYTHON = """
import slangad as sa


@sa.differentiable
def ramp(x: float) -> float:
    return x * x


@ramp.backward
def ramp_backward(x, d_out):
    return -2.0 * x * d_out


@sa.differentiable
def wave(x: float) -> float:
    return sa.sin(x)
"""

SETTINGS = """
[tool.slangad.check.functions]
"ra*" = {expect = "fail a wrong sign", range = "x 2 3"}
"described.py:wave" = {skip = "slow", mode = "backward"}
"other.py:*" = {skip = "another file"}
"""


def checked(project: Project, *words: str, code: int) -> dict[str, dict[str, Any]]:
    """Return the results of a check by name."""
    printed = project.run("check", *words, "--samples", "24", "--format", "json", code=code).stdout
    return {result["function"]: result for result in json.loads(printed)["results"]}


def test_directives__above_slang_functions__change_their_checks_and_wrong_ones_fail_alone(project: Project) -> None:
    project.write("f.slang", SLANG)
    found = checked(project, "f.slang", code=3)
    assert {name: one["verdict"] for name, one in found.items() if not name.startswith("check line")} == {
        "sum": "PASS",
        "drawn": "SKIPPED",
        "bad": "EXPECTED_FAIL",
        "good": "FAIL",
        "lame": "PASS",
        "typo": "PASS",
        "near": "PASS",
        "far": "FAIL",
        "broken": "SKIPPED",
    }
    means = [value["value"] for s in found["sum"]["samples"] for value in s["inputs"] if ".mean." in value["path"]]
    assert 0.5 <= min(means) <= max(means) <= 0.75
    assert found["drawn"]["reason"] == "the host draws it"
    assert found["bad"]["reason"].startswith("the sign: d result / d x")
    assert "expected to fail (nothing)" in found["good"]["reason"]
    assert {leg["leg"]: leg["state"] for leg in found["lame"]["legs"]}["forward"] == "missing"
    wrong = {name: (one["verdict"], one["reason"]) for name, one in found.items() if name.startswith("check line")}
    assert wrong == {
        "check line 5": ("FAIL", "there is no parameter 'k' [SA064]"),
        "check line 24": ("FAIL", "there is no directive 'tolerence' [SA087]"),
        "check line 25": ("FAIL", "'sideways' is not 'backward' or 'forward' [SA087]"),
        "check line 26": ("FAIL", "the reason is missing [SA087]"),
        "check line 27": ("FAIL", "a range needs a parameter, its lowest and its highest value [SA085]"),
        "check line 43": ("FAIL", "'skip' stands above no differentiable function [SA087]"),
    }
    assert found["check line 24"]["failures"][0]["notes"] == ["help: did you mean 'tolerance'?"]


def test_directives__of_the_project__select_functions_of_descriptions_by_patterns(project: Project) -> None:
    project.write("described.py", PYTHON)
    project.write("pyproject.toml", SETTINGS)
    found = checked(project, "described.py", code=0)
    assert (found["ramp"]["verdict"], found["wave"]["verdict"]) == ("EXPECTED_FAIL", "SKIPPED")
    assert min(sample["inputs"][0]["value"] for sample in found["ramp"]["samples"]) >= 2.0
    project.write("pyproject.toml", SETTINGS.replace("fail a", "fial a"))
    refused = project.run("check", "described.py", code=1).stderr
    assert "pyproject.toml:3:1: error[SA087]: 'fial' is not 'fail'" in refused
    assert "did you mean 'fail'?" in refused
