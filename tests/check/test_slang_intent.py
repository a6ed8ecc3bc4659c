"""Slang files that declare where gradients end, or which derivative they mean: the check compares with that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Leg, LegState, NoteKind, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

    from slangad.compiler.report.model import Result

SAMPLE = Path(__file__).parents[2] / "samples" / "declared" / "safe_divide.slang"
ELSEWHERE = """
[Differentiable] float imported(float x) { return detach(x * x) * x; }
"""
TEXT = """
import elsewhere;

float h(float x) { return x * x; }
void both(float x, out float a, out float b) { a = x * x; b = x; }
[TreatAsDifferentiable] float treated(float x) { return x * x; }
struct Held { float a; float b[2]; }
Held held(float x) { return { x * x, { x, x } }; }
[Differentiable] float part(no_diff float k, float x) { return k * x; }

[Differentiable] float called(float x) { return no_diff h(x) * x; }
[Differentiable] float stopped(float x) { return detach(x * x) * x; }
[Differentiable] float of_struct(float x) { return (no_diff held(x)).b[1] * x; }
[Differentiable] float through_parameter(float x) { return part(x * x, x); }
[Differentiable] float through_out(float x) { float a, b; no_diff both(x, a, b); return a * x + b; }
[Differentiable] float in_out(float x) { float a, b; if (no_diff held_at(x, a)) return a * x; return x; }
no_diff float ended(float x) { if (x > 0.5) return 2.0 * x; return x * x; }
[Differentiable] float through_result(float x) { return ended(x) * x; }
[Differentiable] float ignored(float x) { return x * no_diff sin(x); }
bool held_at(float x, out float a) { a = x * x; return x > 0.0; }
[Differentiable] void through_void(float x, inout float y) { y = no_diff h(x) * x * y; }
[Differentiable] float through_import(float x) { return imported(x) + x; }
[Differentiable] float through_treated(float x) { return treated(x) * x; }
[Differentiable] float added_treated(float x) { return x + treated(x); }
[Differentiable] float added_without(float x) { return x + no_diff h(x); }

[BackwardDerivative(wrong_bwd)] [Differentiable] float wrong(float x) { return no_diff h(x) * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3.0 * x.p * x.p * d); }

[BackwardDerivative(own_bwd)] float own(float x) { return detach(x) * x; }
void own_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }

// check: derivative surrogate soft
[BackwardDerivative(hard_bwd)] float hard(float x) { return step(0.5, x); }
void hard_bwd(inout DifferentialPair<float> x, float d) { bwd_diff(soft)(x, d); }
[Differentiable] float soft(float x) { return 1.0 / (1.0 + exp(-4.0 * (x - 0.5))); }
[Differentiable] float through_hard(float x) { return hard(x * x) * x; }

// check: derivative straight_through
[BackwardDerivative(rounded_bwd)] float rounded(float x) { return round(x * 8.0) / 8.0; }
void rounded_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }

// check: derivative subgradient 0.25 at 0
[BackwardDerivative(ramp_bwd)] float ramp(float x) { return max(x, 0.0) * 2.0; }
void ramp_bwd(inout DifferentialPair<float> x, float d)
{ x = diffPair(x.p, x.p == 0.0 ? 0.25 * d : x.p > 0.0 ? 2.0 * d : 0.0); }

// check: derivative subgradient 0.25 at 0
[BackwardDerivative(bent_bwd)] float bent(float x) { return max(x, 0.0) * 2.0; }
void bent_bwd(inout DifferentialPair<float> x, float d)
{ x = diffPair(x.p, x.p == 0.0 ? 5.0 * d : x.p > 0.0 ? 2.0 * d : 0.0); }

// check: derivative clip 4
[BackwardDerivative(loose_bwd)] float loose(float x) { return x * x * x; }
void loose_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, clamp(3.0 * x.p * x.p * d, -2.0, 2.0)); }

// check: derivative clip 2
[BackwardDerivative(unclipped_bwd)] float unclipped(float x) { return x * x * x; }
void unclipped_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3.0 * x.p * x.p * d); }

// check: derivative surrogate sift
[BackwardDerivative(lost_bwd)] float lost(float x) { return step(0.5, x); }
void lost_bwd(inout DifferentialPair<float> x, float d) { bwd_diff(soft)(x, d); }
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = tmp_path_factory.mktemp("declared")
    (folder / "elsewhere.slang").write_text(ELSEWHERE, encoding="utf-8")
    (folder / "f.slang").write_text(TEXT, encoding="utf-8")
    return by_name(check(parse_inputs([str(folder / "f.slang")]), CheckOptions(samples=24)))


DECLARED = ["called", "stopped", "of_struct", "through_out", "through_import", "through_void", "through_result"]


@pytest.mark.parametrize("name", [*DECLARED, "through_parameter", "hard", "through_hard", "rounded"])
def test_check__an_end_or_a_derivative_that_slang_declares__is_right_and_shows_what_it_hides(
    results: dict[str, Result], name: str
) -> None:
    result = results[name]
    assert result.verdict.good, result.reason
    hidden = [note.message for note in result.notes if note.kind is NoteKind.STOP]
    assert any(" is " in message and " and declared to be " in message for message in hidden), hidden


def test_check__a_chosen_subgradient__is_the_one_that_counts(results: dict[str, Result]) -> None:
    assert results["ramp"].verdict.good, results["ramp"].reason
    assert results["bent"].verdict is Verdict.FAIL


def test_check__the_slope_of_a_frozen_part__is_no_part_of_the_gradient(results: dict[str, Result]) -> None:
    assert results["wrong"].verdict is Verdict.FAIL
    assert "a factor of 3" in results["wrong"].reason
    assert results["own"].verdict.good, results["own"].reason


def test_check__no_diff_before_a_differentiable_call__has_no_effect_in_slang_and_is_named(
    results: dict[str, Result],
) -> None:
    assert results["ignored"].verdict is Verdict.FAIL
    assert "Slang differentiates no_diff sin(x) all the same" in results["ignored"].reason
    assert "write detach(...) in place of no_diff" in results["ignored"].reason


def test_check__a_clip_that_is_not_the_declared_one__fails(results: dict[str, Result]) -> None:
    assert results["loose"].verdict is Verdict.FAIL
    (failure,) = results["unclipped"].failures
    assert (failure.leg, failure.found) == (Leg.INTENT, pytest.approx(3.0))


def test_check__a_caller_of_a_custom_backward_alone__has_no_forward_mode(results: dict[str, Result]) -> None:
    missing = {leg.leg: leg.detail for leg in results["through_hard"].legs if leg.state is LegState.MISSING}
    assert missing == {Leg.FORWARD: "not available: custom backward of hard"}


def test_check__what_is_treated_as_differentiable__counts_as_zero_in_derivatives_of_slang(
    results: dict[str, Result],
) -> None:
    assert results["treated"].verdict is Verdict.SKIPPED
    assert "derivatives take the value of treated as 0" in results["through_treated"].reason
    (failure,) = results["added_treated"].failures
    assert failure.leg is Leg.PRIMAL
    assert "forward mode computes another value" in results["added_treated"].reason
    assert "Remedy: leave the attribute out, and call it with no_diff" in results["added_treated"].reason
    assert results["added_without"].verdict is Verdict.PASS


def test_check__an_end_that_cannot_be_frozen__is_undecided(results: dict[str, Result]) -> None:
    assert results["in_out"].verdict is Verdict.INCONCLUSIVE
    assert "can't keep that part constant" in results["in_out"].reason


def test_check__a_surrogate_that_is_nowhere__is_an_error_of_its_line(results: dict[str, Result]) -> None:
    line = next(k for k, text in enumerate(TEXT.split("\n"), 1) if "surrogate sift" in text)
    result = results[f"check line {line}"]
    assert (result.verdict, result.reason) == (Verdict.FAIL, "there is no function 'sift' [SA087]")
    assert result.failures[0].notes == ("help: did you mean 'soft'?",)


@pytest.mark.parametrize(
    ("left_out", "wrong"),
    [
        ("", set()),
        ("derivative clip", {"safeDivide", "exposure"}),
        ("derivative finite", {"externalFunction", "exposure"}),
    ],
)
def test_sample__derivatives_that_are_meant__are_right_with_their_lines_only(
    tmp_path: Path, left_out: str, wrong: set[str]
) -> None:
    lines = SAMPLE.read_text("utf-8").splitlines(keepends=True)
    path = tmp_path / SAMPLE.name
    path.write_text("".join(line for line in lines if not left_out or left_out not in line), encoding="utf-8")
    results = check(parse_inputs([str(path)]), CheckOptions(samples=48)).results
    assert {result.function for result in results} == {"safeDivide", "externalFunction", "exposure"}
    assert {result.function for result in results if not result.verdict.good} == wrong


def test_check__instances_of_a_generic_caller_of_a_custom_backward__say_once_that_forward_mode_is_missing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "generic.slang"
    path.write_text(
        "[BackwardDerivative(slope)] float hard(float x) { return x * x; }\n"
        "void slope(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }\n"
        "[BackwardDifferentiable] float scaled<let n : int>(float x) { return float(n) * hard(x); }\n"
    )
    result = by_name(check(parse_inputs([str(path)]), CheckOptions()))["scaled<2>"]
    assert [leg.detail for leg in result.legs if leg.state is LegState.MISSING] == [
        "not available: custom backward of hard"
    ]


GENERATED = """
[Differentiable] float project(float x, no_diff float k) { return x * x * k; }
#define ENTRY(suffix, n) [Differentiable] float entry##suffix(float x, float k) { return project(x, k) * n; }
ENTRY(_a, 2.0)
[Differentiable] float slope(float x, no_diff float k) { return fwd_diff(project)(diffPair(x, 1.0), k).d; }
[Differentiable] float bad(float x) { return x < 0.5 ? x : good(x) * other(x, 2.0); }
[Differentiable] float good(float x) { return x * asfloat(0x40000000); }
[BackwardDerivative(other_bwd)] float other(float x, float k) { return x * k; }
void other_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> k, float d)
{
    x = diffPair(x.p, d * k.p * 2.0);
    k = diffPair(k.p, d * x.p);
}
"""


def test_check__declared_parts_behind_macros_and_derivatives__accuse_none(checked: Checked) -> None:
    results = checked(GENERATED, ".slang", samples=32)
    assert {name: one.verdict.value for name, one in results.items()} == {
        "project": "PASS",
        "entry_a": "INCONCLUSIVE",
        "slope": "INCONCLUSIVE",
        "bad": "FAIL",
        "good": "PASS",
        "other": "FAIL",
    }
    assert results["bad"].because == ("other",)
