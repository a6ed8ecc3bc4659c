"""Make results of subjects that can't be run, because they or their twins did not build."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement, Reason
from slangad.compiler.check.subjects.undeclared import remedy
from slangad.compiler.check.verdict.decide import failure_of, without_numbers
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import Failure, Leg, Note, NoteKind, Result

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from slangad.compiler.check.build.libraries import Built, Refusal
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.ir.nodes import Module

_NO_MODE: Final = re.compile(r"'(fwd|bwd)_diff' is not a member of")
_NAMES: Final = {
    Mode.FORWARD.value: "it",
    Mode.BACKWARD.value: "reverse mode of it",
    Mode.JVP.value: "forward mode of it",
}
_UNPAIRED: Final = re.compile(r"expected an expression of type 'DifferentialPair<(\w+)>', got '\1'")
"""Slang's message on our call with a struct that is ``IDifferentiable`` and has nothing to differentiate."""
_UNDECLARED: Final = re.compile(r"\b_S\d+\b.*\b(?:not declared|undeclared)")
_OTHERWISE: Final = "write that part in another way, and report it to Slang"


_CLIPPED: Final = "Slang can't differentiate what it calls without its clip"


def refused(plan: SubjectPlan, f64: Built, f32: Built, module: Module) -> Result | None:
    """Return the result of a subject that can't run; None if it can.

    Args:
        plan: What is asked of the subject.
        f64: The float64 build.
        f32: The float32 build.
        module: The subject's module.
    """
    subject = plan.subject
    if subject.skipped:
        return without_numbers(plan, Reason(CheckOutcome.NOTHING_TO_CHECK, subject.skipped))
    if subject.failure is not None:
        return _broken(plan, subject.failure)
    if subject.unclipped and subject.facts is not None:
        lost = [r.reason for r in f64.refusals if r.kernel == subject.kernel and not _NO_MODE.search(r.reason)]
        if lost:
            return without_numbers(plan, Reason(CheckOutcome.NO_TWIN, f"{_CLIPPED}: {lost[0]}"))
    kernels = subject.pipeline.kernels if subject.pipeline else (subject.kernel,)
    in_f64 = [r for r in f64.refusals if r.kernel in kernels and not _NO_MODE.search(r.reason)]
    in_both = [r for r in in_f64 if _same(r, f32)]
    if in_both:
        itself = [r for r in in_both if r.mode in ("", Mode.FORWARD.value)]
        return _uncompiled(itself or in_both, plan, f32, module)
    if in_f64:
        return without_numbers(
            plan, Reason(CheckOutcome.NO_TWIN, f"there is no float64 twin of it: {in_f64[0].reason}")
        )
    return None


def twins_lost(subjects: Collection[Subject], f64: Built, f32: Built) -> bool:
    """Return True if several subjects compile and none has a float64 twin: one of them may be the reason."""
    lost = {r.kernel for r in f64.refusals if not _same(r, f32)}
    return len(subjects) > 1 and all(subject.kernel in lost for subject in subjects)


def _broken(plan: SubjectPlan, broken: Disagreement) -> Result:
    """Return the result of a part of a Slang file that does not compile, or that has no twin."""
    result = without_numbers(plan, Reason(broken.outcome, broken.message))
    if broken.outcome is CheckOutcome.NO_TWIN:
        return result
    return replace(result, failures=(failure_of(broken, plan.command),))


def _same(refusal: Refusal, f32: Built) -> list[Refusal]:
    """Return the refusals of the float32 build that concern the same as one of the float64 build."""
    return [r for r in f32.refusals if r.kernel == refusal.kernel and r.mode in (refusal.mode, "")]


def _uncompiled(refusals: Sequence[Refusal], plan: SubjectPlan, f32: Built, module: Module) -> Result:
    """Return the result of what compiles in neither precision: inconclusive if only the C++ of Slang is at fault."""
    alike = [_same(refusal, f32)[0] for refusal in refusals]
    if all(r.cpp for r in (*refusals, *alike)) and not any(r.elsewhere for r in alike):
        reason = f"{_named(refusals[0], plan)} can't be run: Slang's C++ of it does not compile: {alike[0].reason}"
        note = Note(NoteKind.MISSING, f"a defect of Slang, and of its C++ only: {_remedy(alike[0], module)}")
        result = without_numbers(plan, Reason(CheckOutcome.NO_HOST_CODE, reason))
        return replace(result, notes=(*plan.notes, note))
    unpaired = next(filter(None, (_UNPAIRED.search(one.reason) for one in alike)), None)
    if unpaired is not None:
        struct = unpaired[1]
        reason = f"{struct} is IDifferentiable and has nothing that carries gradient: write no_diff before it"
        return without_numbers(plan, Reason(CheckOutcome.EMPTY_DIFFERENTIAL, reason))
    failures = [_failure(one, plan, module) for one in alike]
    return without_numbers(plan, Reason(CheckOutcome.NOT_COMPILED, failures[0].message), failures)


def _failure(refusal: Refusal, plan: SubjectPlan, module: Module) -> Failure:
    message = f"{_named(refusal, plan)} does not compile: {refusal.reason}"
    if not refusal.cpp:
        return failure_of(Disagreement(Leg.COMPILE, CheckOutcome.NOT_COMPILED, message), plan.command)
    message = f"{_named(refusal, plan)} does not compile, neither as C++ nor for SPIR-V: {refusal.reason}"
    cause = f"a defect of Slang, for GPUs too: {_remedy(refusal, module)}"
    notes = (f"c++: {refusal.reason}", f"SPIR-V: {refusal.elsewhere}") if refusal.elsewhere else ()
    return failure_of(
        Disagreement(Leg.COMPILE, CheckOutcome.NOT_COMPILED, message, cause=cause, notes=notes), plan.command
    )


def _named(refusal: Refusal, plan: SubjectPlan) -> str:
    """Return what is refused, as the beginning of a sentence."""
    name = _NAMES.get(refusal.mode, "it")
    pipeline = plan.subject.pipeline
    return name if pipeline is None else f"{pipeline.shown.get(refusal.kernel, refusal.kernel)}: {name}"


def _remedy(refusal: Refusal, module: Module) -> str:
    return remedy(module, refusal.kernel) if _UNDECLARED.search(refusal.reason) else _OTHERWISE
