"""Every way in which hand-written Slang gets a wrong gradient without a word: each is caught and named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from check.conftest import by_name

from slangad.compiler.check.session import CheckOptions, check
from slangad.compiler.inputs import parse_inputs
from slangad.compiler.report.model import Leg, Verdict

if TYPE_CHECKING:
    from slangad.compiler.report.model import Result

FILE = Path(__file__).parent / "slang" / "traps.slang"
NOTHING = "no gradient reaches this input"
TRAPS = {
    "equal_indices": (Leg.REVERSE, "v.", "at some samples"),
    "remainder_of": (Leg.REVERSE, "y", NOTHING),
    "square_by_pow": (Leg.REVERSE, "x", NOTHING),
    "short_length": (Leg.REVERSE, "v.", "term"),
    "small_root": (Leg.REVERSE, "x", "term"),
    "small_reciprocal": (Leg.REVERSE, "x", "term"),
    "short_distance": (Leg.REVERSE, "", "term"),
    "short_direction": (Leg.REVERSE, "v.", "term"),
    "square_left_of_two": (Leg.REVERSE, "x", NOTHING),
    "calls_backward_alone": (Leg.FORWARD, "x", NOTHING),
    "forgets_y": (Leg.REVERSE, "y", NOTHING),
    "detaches": (Leg.REVERSE, "x", "a factor of 0.5"),
    "passive_inside": (Leg.REVERSE, "x", "a factor of 0.333"),
    "scalar_leaves_loop": (Leg.REVERSE, "background.", NOTHING),
    "acos_of_clamp": (Leg.FORWARD, "x", "not a number"),
    "sign_in_reverse": (Leg.REVERSE, "x", "the sign is wrong"),
    "factor": (Leg.REVERSE, "x", "a factor of 1.001"),
    "swapped": (Leg.REVERSE, "x", "it is the gradient of y: swapped arguments"),
    "transposed": (Leg.REVERSE, "m[", "it is the gradient of m["),
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return by_name(check(parse_inputs([str(FILE)]), CheckOptions()))


@pytest.mark.parametrize("name", TRAPS)
def test_check__a_trap_of_slang__is_caught_and_named(results: dict[str, Result], name: str) -> None:
    leg, column, cause = TRAPS[name]
    result = results[name]
    assert result.verdict is Verdict.FAIL
    (failure,) = (f for f in result.failures if f.leg is leg)
    assert failure.column.startswith(column)
    assert cause in failure.cause
    assert failure.sample is not None
    assert failure.curve is not None
    assert failure.reproduce.endswith(f"--only {name}")


def test_check__a_struct_that_is_not_differentiable__is_named(results: dict[str, Result]) -> None:
    result = results["passive_struct"]
    assert result.verdict is Verdict.FAIL
    assert "Passive is not IDifferentiable" in result.failures[0].cause


def test_check__a_loop_bound_that_is_too_small__is_caught(results: dict[str, Result]) -> None:
    """What comes out is up to what lies beside the memory that reverse mode overruns, so not which leg disagrees."""
    result = results["bound_too_small"]
    assert result.verdict is Verdict.FAIL
    assert result.failures


@pytest.mark.parametrize("name", ["right", "backward_alone", "casts", "half_right"])
def test_check__a_right_function_beside_traps__is_not_accused(results: dict[str, Result], name: str) -> None:
    assert results[name].verdict.good, results[name].reason


def test_check__only_a_backward_derivative__says_that_forward_is_missing(results: dict[str, Result]) -> None:
    notes = [note.message for note in results["backward_alone"].notes]
    assert any("forward mode is not checked" in note for note in notes)


def test_check__forward_mode_with_a_wrong_value__names_the_primal_leg(results: dict[str, Result]) -> None:
    legs = {failure.leg for failure in results["calls_backward_alone"].failures}
    assert Leg.PRIMAL in legs
    assert Leg.REVERSE not in legs


def test_check__a_cotangent_that_is_ignored__names_the_leg(results: dict[str, Result]) -> None:
    (failure,) = results["ignores_cotangent"].failures
    assert failure.leg is Leg.TRANSPOSE
    assert failure.cotangent
    assert failure.cause == "the cotangent is not used: the gradient is the one for a cotangent of 1"


def test_check__hand_written_slang_that_is_right__accuses_none() -> None:
    options = CheckOptions(specialize=("cube<float>",))
    results = by_name(check(parse_inputs([str(FILE.with_name("right.slang"))]), options))
    assert len(results) >= 22
    assert not {name: result.reason for name, result in results.items() if not result.verdict.good}
