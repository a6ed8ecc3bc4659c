"""Verdicts: the only place that sets one.

Steps hand on outcomes (``model.outcomes``). The table gives each of them its verdict.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.outcomes import Outcome
from slangad.compiler.report.model import Failure, Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.check.model.outcomes import Disagreement, Reason
    from slangad.compiler.check.model.plan import Plan

VERDICTS: Final[dict[Outcome, Verdict]] = {
    Outcome.NOT_REPRODUCIBLE: Verdict.NONDETERMINISTIC,
    Outcome.NOT_COMPILED: Verdict.FAIL,
    Outcome.NOT_RUN: Verdict.FAIL,
    Outcome.WRONG: Verdict.FAIL,
    Outcome.NO_SUBGRADIENT: Verdict.KINK_BAD,
    Outcome.IMPRECISE: Verdict.PRECISION,
    Outcome.LOST_GRADIENT: Verdict.FAIL,
    Outcome.NOTHING_TO_CHECK: Verdict.SKIPPED,
    Outcome.NO_MODE: Verdict.SKIPPED,
    Outcome.NOT_MUTATED: Verdict.SKIPPED,
    Outcome.NO_TWIN: Verdict.INCONCLUSIVE,
    Outcome.NO_HOST_CODE: Verdict.INCONCLUSIVE,
    Outcome.EMPTY_DIFFERENTIAL: Verdict.INCONCLUSIVE,
    Outcome.NO_SHAPES: Verdict.INCONCLUSIVE,
    Outcome.NOT_FINITE: Verdict.INCONCLUSIVE,
    Outcome.FEW_BLOCKS: Verdict.INCONCLUSIVE,
    Outcome.OUT_OF_BOUNDS: Verdict.INCONCLUSIVE,
    Outcome.FEW_SAMPLES: Verdict.INCONCLUSIVE,
    Outcome.NOT_ON_DEVICE: Verdict.INCONCLUSIVE,
    Outcome.UNKNOWN_INTENT: Verdict.INCONCLUSIVE,
    Outcome.AT_KINKS: Verdict.KINK_OK,
}
"""The verdict of every outcome, the gravest first. Without any outcome, a subject passes."""
_GRAVITY: Final = {outcome: place for place, outcome in enumerate(VERDICTS)}
_OF_FAILURES: Final = {VERDICTS[outcome]: _GRAVITY[outcome] for outcome in reversed(VERDICTS)}
"""The gravity of failures by their verdict: that of the gravest outcome with this verdict."""


def verdict_of(outcome: Outcome) -> Verdict:
    """Return the verdict that an outcome alone gives a subject."""
    return VERDICTS[outcome]


def decide(failures: Iterable[Failure], reasons: Iterable[Reason]) -> tuple[Verdict, str]:
    """Return the verdict of a subject with its reason: that of the gravest outcome, of the first among equals."""
    grave = [
        *((_OF_FAILURES[one.verdict], one.verdict, reason_of(one)) for one in failures),
        *((_GRAVITY[outcome], VERDICTS[outcome], words) for outcome, words in reasons),
    ]
    if not grave:
        return Verdict.PASS, ""
    _, verdict, words = min(grave, key=lambda one: one[0])
    return verdict, words


def is_settled(failures: Iterable[Failure]) -> bool:
    """Return True if failures of samples out of range can't change the verdict that these failures give."""
    return any(_OF_FAILURES[one.verdict] <= _GRAVITY[Outcome.WRONG] for one in failures)


def reason_of(failure: Failure) -> str:
    """Return a failure in one line: what is wrong, and the likely cause."""
    return failure.message + (f"; {failure.cause}" if failure.cause else "")


def failure_of(disagreement: Disagreement, command: str) -> Failure:
    """Return a disagreement as a failure of the report, with the command that reproduces it."""
    return Failure(
        disagreement.leg,
        verdict_of(disagreement.outcome),
        disagreement.message,
        row=disagreement.row,
        column=disagreement.column,
        expected=disagreement.expected,
        error=disagreement.error,
        found=disagreement.found,
        cause=disagreement.cause,
        reproduce=command,
        notes=disagreement.notes,
    )


def result_of(plan: Plan, failures: Iterable[Failure], reasons: Iterable[Reason]) -> Result:
    """Return the result of a subject without numbers, with the verdict that failures and reasons give."""
    subject = plan.subject
    verdict, reason = decide(failures, reasons)
    return Result(
        plan.file, subject.label, subject.kind, verdict, subject.span, plan.generated, reason, notes=plan.notes
    )


def without_numbers(plan: Plan, reason: Reason, failures: Sequence[Failure] = ()) -> Result:
    """Return the result of a subject that was not run, or can't be."""
    return replace(result_of(plan, (), [reason]), failures=tuple(failures))


def redecided(result: Result, reason: Reason) -> Result:
    """Return a result with another reason, and its verdict."""
    return replace(result, verdict=verdict_of(reason.outcome), reason=reason.words)
