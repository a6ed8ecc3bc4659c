"""Verdicts: every outcome has one, the gravest outcome decides, and nothing else sets a verdict."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import slangad.compiler.check
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement, Reason
from slangad.compiler.check.verdict.decide import VERDICTS, decide, failure_of, is_settled, verdict_of
from slangad.compiler.report.model import Failure, Leg, Verdict

ROOM = Path(slangad.compiler.check.__file__).resolve().parent


def _failure(outcome: CheckOutcome, message: str = "wrong") -> Failure:
    return failure_of(Disagreement(Leg.REVERSE, outcome, message), "slangad check f.py")


def test_verdicts__of_outcomes__are_complete_and_cover_all_verdicts_but_pass() -> None:
    assert list(VERDICTS) == list(CheckOutcome)
    assert set(VERDICTS.values()) == set(Verdict) - {Verdict.PASS}


def test_decide__without_failures_and_reasons__passes() -> None:
    assert decide([], []) == (Verdict.PASS, "")


@pytest.mark.parametrize("outcome", list(CheckOutcome), ids=lambda outcome: outcome.name)
def test_decide__one_reason__has_its_verdict_and_words(outcome: CheckOutcome) -> None:
    assert decide([], [Reason(outcome, "because")]) == (verdict_of(outcome), "because")


@pytest.mark.parametrize(
    ("failures", "reasons", "verdict"),
    [
        ([CheckOutcome.WRONG, CheckOutcome.NOT_REPRODUCIBLE], [], Verdict.NONDETERMINISTIC),
        ([CheckOutcome.IMPRECISE, CheckOutcome.NO_SUBGRADIENT], [], Verdict.KINK_BAD),
        ([CheckOutcome.IMPRECISE], [CheckOutcome.LOST_GRADIENT], Verdict.PRECISION),
        ([CheckOutcome.IMPRECISE], [CheckOutcome.NOT_FINITE], Verdict.PRECISION),
        ([], [CheckOutcome.FEW_SAMPLES, CheckOutcome.LOST_GRADIENT], Verdict.FAIL),
        ([], [CheckOutcome.NO_MODE, CheckOutcome.LOST_GRADIENT], Verdict.FAIL),
        ([], [CheckOutcome.AT_KINKS, CheckOutcome.UNKNOWN_INTENT], Verdict.INCONCLUSIVE),
    ],
)
def test_decide__several__takes_the_gravest(
    failures: list[CheckOutcome], reasons: list[CheckOutcome], verdict: Verdict
) -> None:
    found = decide([_failure(one) for one in failures], [Reason(one, one.name) for one in reasons])
    assert found[0] is verdict


def test_decide__equals__takes_the_first() -> None:
    assert decide([_failure(CheckOutcome.WRONG, "one"), _failure(CheckOutcome.WRONG, "other")], [])[1] == "one"
    assert decide([], [Reason(CheckOutcome.AT_KINKS, "one"), Reason(CheckOutcome.AT_KINKS, "other")])[1] == "one"


def test_is_settled__after_failures_that_nothing_outweighs__is_true() -> None:
    assert is_settled([_failure(CheckOutcome.WRONG)])
    assert is_settled([_failure(CheckOutcome.NOT_REPRODUCIBLE)])
    assert not is_settled([_failure(CheckOutcome.NO_SUBGRADIENT), _failure(CheckOutcome.IMPRECISE)])


def test_check__outside_of_decide__compares_verdicts_and_sets_none() -> None:
    found = []
    for path in sorted(ROOM.rglob("*.py")):
        if path != ROOM / "verdict" / "decide.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(ROOM)}:{node.lineno}" for node in ast.walk(tree) if _sets_a_verdict(node)]
    assert found == []


def _sets_a_verdict(node: ast.AST) -> bool:
    """Whether a node passes, stores or returns a verdict."""
    values: list[ast.expr | None] = []
    if isinstance(node, ast.Call):
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Yield, ast.NamedExpr)):
        values = [node.value]
    return any(
        isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "Verdict"
        for value in values
    )
