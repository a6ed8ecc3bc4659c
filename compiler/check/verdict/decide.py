"""Verdicts: the only place that sets one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.report.model import Result, Verdict

if TYPE_CHECKING:
    from slangad.compiler.check.model.plan import Plan


def blank(plan: Plan, verdict: Verdict, reason: str) -> Result:
    """A result without numbers."""
    subject = plan.subject
    return Result(
        plan.file, subject.label, subject.kind, verdict, subject.span, plan.generated, reason, notes=plan.notes
    )
