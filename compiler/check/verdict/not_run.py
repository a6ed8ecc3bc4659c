"""Make results of subjects that crash, do not end, or break the check, and of files that can't be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.columns import input_table
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement, Reason
from slangad.compiler.check.model.task import SubjectTask
from slangad.compiler.check.verdict.decide import failure_of, verdict_of, without_numbers
from slangad.compiler.errors.diagnostics import with_helps
from slangad.compiler.errors.spans import Span
from slangad.compiler.report.model import Leg, Result
from slangad.compiler.slang_text.endings import is_slang

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.check.model.task import PipelineTask
    from slangad.compiler.errors.diagnostics import CompileError, ToolchainError

_OUTCOMES: Final = {
    "SA080": CheckOutcome.NOTHING_TO_CHECK,
    "SA081": CheckOutcome.NOTHING_TO_CHECK,
    "SA082": CheckOutcome.NOTHING_TO_CHECK,
    "SA241": CheckOutcome.SLOW_COMPILE,
}
"""The outcomes of files that are not at fault: there is nothing to check, or the compiler is slow."""
_MISSING: Final = {"SA082": ", and no file of its folder or a parent folder includes it"}
"""Remarks by code for files that are not at fault."""
_DIVIDED: Final = frozenset({"SIGFPE", f"exit status {0xC0000094}", f"exit status {0xC0000094 - 2**32}"})
"""The causes of death of a process that divides an integer by 0, on Windows too."""


def broken(task: SubjectTask | PipelineTask, error: str) -> Result:
    """Return the result of a subject at which the check itself fails."""
    return _failed(task, f"the check itself fails at it: {error}", "a defect of slangad: please report it")


def crashed(task: SubjectTask | PipelineTask, how: str) -> Result:
    """Return the result of a subject whose process died; nothing in a kernel kills a process by SIGKILL."""
    if how == "SIGKILL":
        return _too_much(task, "its process was killed (SIGKILL)", "a check of this size needs more memory")
    return _failed(task, f"it crashes ({how}) when it runs", _cause_of_death(how, task))


def endless(task: SubjectTask | PipelineTask, limit: float) -> Result:
    """Return the result of a subject that takes longer than a number of seconds; loops of descriptions have bounds."""
    if not is_slang(task.plan.file):
        return _too_much(task, f"its samples take more than {limit:g} s", "--run-limit gives them more")
    cause = "a loop that never ends; or more work than --run-limit allows"
    return _failed(task, f"it does not end within {limit:g} s", cause)


def _too_much(task: SubjectTask | PipelineTask, how: str, remedy: str) -> Result:
    return without_numbers(task.plan, Reason(CheckOutcome.TOO_MUCH_WORK, f"{how}: {remedy}"))


def _cause_of_death(how: str, task: SubjectTask | PipelineTask) -> str:
    """Return the likely reason why a process died in this way."""
    if how not in _DIVIDED:
        return "an index out of bounds, or a loop that runs longer than its [MaxIters]"
    what = "an integer is divided by 0, for its quotient or its remainder"
    columns = input_table(task.kernel).columns if isinstance(task, SubjectTask) else ()
    names = [f"'{column.path}'" for column in columns if column.scalar in ("int", "uint")]
    who = names[0] if len(names) == 1 else f"that of {', '.join(names)} which divides"
    return f"{what}: declare a range without 0 for {who}" if names else what


def _failed(task: SubjectTask | PipelineTask, how: str, cause: str) -> Result:
    failure = failure_of(Disagreement(Leg.COMPILE, CheckOutcome.NOT_RUN, how, cause=cause), task.plan.command)
    return without_numbers(task.plan, Reason(CheckOutcome.NOT_RUN, f"{how}; likely {cause}"), [failure])


def file_result(path: Path, error: CompileError | ToolchainError) -> Result:
    """Return the result of a file that can't be read as a program."""
    first = error.diagnostics[0]
    outcome = _OUTCOMES.get(first.code, CheckOutcome.NOT_COMPILED)
    span = first.span if first.span.line else Span(str(path), 1, 1, 1, 1)
    reason = f"{first.message}{_MISSING.get(first.code, '')} [{first.code}]"
    failure = failure_of(Disagreement(Leg.COMPILE, outcome, reason, notes=tuple(with_helps(error.diagnostics))), "")
    return Result(
        str(path),
        "",
        "function",
        verdict_of(outcome),
        span,
        reason=re.sub(r"\s+", " ", reason),
        failures=(failure,) if outcome is CheckOutcome.NOT_COMPILED else (),
    )
