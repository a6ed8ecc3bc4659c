"""Set verdicts. No other module does.

The steps return outcomes (``model.outcomes``). The table here has the verdict of each outcome.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement, Reason
from slangad.compiler.report.model import Failure, Leg, Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.subject import Subject

VERDICTS: Final[dict[CheckOutcome, Verdict]] = {
    CheckOutcome.NOT_REPRODUCIBLE: Verdict.NONDETERMINISTIC,
    CheckOutcome.NOT_COMPILED: Verdict.FAIL,
    CheckOutcome.NOT_RUN: Verdict.FAIL,
    CheckOutcome.WRONG: Verdict.FAIL,
    CheckOutcome.NO_SUBGRADIENT: Verdict.KINK_BAD,
    CheckOutcome.IMPRECISE: Verdict.PRECISION,
    CheckOutcome.LOST_GRADIENT: Verdict.FAIL,
    CheckOutcome.BAD_DIRECTIVE: Verdict.FAIL,
    CheckOutcome.FAILS_AS_EXPECTED: Verdict.EXPECTED_FAIL,
    CheckOutcome.NOTHING_TO_CHECK: Verdict.SKIPPED,
    CheckOutcome.NO_MODE: Verdict.SKIPPED,
    CheckOutcome.NOT_MUTATED: Verdict.SKIPPED,
    CheckOutcome.NO_IMPORT: Verdict.INCONCLUSIVE,
    CheckOutcome.NO_TWIN: Verdict.INCONCLUSIVE,
    CheckOutcome.SLOW_COMPILE: Verdict.INCONCLUSIVE,
    CheckOutcome.TOO_MUCH_WORK: Verdict.INCONCLUSIVE,
    CheckOutcome.NO_HOST_CODE: Verdict.INCONCLUSIVE,
    CheckOutcome.EMPTY_DIFFERENTIAL: Verdict.INCONCLUSIVE,
    CheckOutcome.NO_SHAPES: Verdict.INCONCLUSIVE,
    CheckOutcome.UNKNOWN_INTENT: Verdict.INCONCLUSIVE,
    CheckOutcome.NOT_FINITE: Verdict.INCONCLUSIVE,
    CheckOutcome.FEW_BLOCKS: Verdict.INCONCLUSIVE,
    CheckOutcome.OUT_OF_BOUNDS: Verdict.INCONCLUSIVE,
    CheckOutcome.FEW_SAMPLES: Verdict.INCONCLUSIVE,
    CheckOutcome.NOT_ON_DEVICE: Verdict.INCONCLUSIVE,
    CheckOutcome.UNGUARDED: Verdict.UNGUARDED,
    CheckOutcome.AT_KINKS: Verdict.KINK_OK,
}
"""The verdict of every outcome, the gravest first. Without any outcome, a subject passes."""
_GRAVITY: Final = {outcome: place for place, outcome in enumerate(VERDICTS)}
_OF_FAILURES: Final = {VERDICTS[outcome]: _GRAVITY[outcome] for outcome in reversed(VERDICTS)}
"""The gravity of failures by their verdict: that of the gravest outcome with this verdict."""


def verdict_of(outcome: CheckOutcome) -> Verdict:
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
    return any(_OF_FAILURES[one.verdict] <= _GRAVITY[CheckOutcome.WRONG] for one in failures)


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


def result_of(plan: SubjectPlan, failures: Iterable[Failure], reasons: Iterable[Reason]) -> Result:
    """Return the result of a subject without numbers, with the verdict that failures and reasons give."""
    subject = plan.subject
    verdict, reason = decide(failures, reasons)
    return Result(
        plan.file, subject.label, subject.kind, verdict, subject.span, plan.generated, reason, notes=plan.notes
    )


def without_numbers(plan: SubjectPlan, reason: Reason, failures: Sequence[Failure] = ()) -> Result:
    """Return the result of a subject that was not run, or can't be."""
    return replace(result_of(plan, (), [reason]), failures=tuple(failures))


def with_expectation(result: Result, subject: Subject) -> Result:
    """Return the result of a subject as the opposite if the user expects it to fail."""
    why = subject.directives.expected_failure
    if not why or result.verdict.unchecked:
        return result
    if result.verdict.bad:
        return redecided(result, Reason(CheckOutcome.FAILS_AS_EXPECTED, f"{why}: {result.reason}"))
    reason = Reason(CheckOutcome.BAD_DIRECTIVE, f"it is expected to fail ({why}) and does not: remove `expect fail`")
    failure = failure_of(Disagreement(Leg.INTENT, *reason), "")
    return replace(redecided(result, reason), failures=(failure,))


def redecided(result: Result, reason: Reason) -> Result:
    """Return a result with another reason, and its verdict."""
    return replace(result, verdict=verdict_of(reason.outcome), reason=reason.words)
