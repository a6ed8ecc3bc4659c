"""Make results of subjects that can't be run, because they or their twins did not build."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.build.libraries import SLANG
from slangad.compiler.check.build.repair_time import ALONE, GIVEN_UP
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement, Reason
from slangad.compiler.check.repair.repaired import SLOW_REMEDY
from slangad.compiler.check.subjects.undeclared import remedy
from slangad.compiler.check.verdict.decide import failure_of, without_numbers
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import Failure, Leg, Note, NoteKind, Result
from slangad.compiler.toolchain.messages.translations import remedy_of_defect

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_UNPAIRED: Final = re.compile(
    r"expected an expression of type (?:'DifferentialPair<([^']+)>', got '\1'|'([^']+)', got 'DifferentialPair<\2>')"
)
"""Slang's message on our call with a struct that is ``IDifferentiable`` and has nothing to differentiate."""
_SAME_NAME: Final = re.compile(r"expected an expression of type '([^']+)', got '\1'")
"""Slang's message on our call with a matrix whose layout stands in a ``typedef``."""
_UNDECLARED: Final = re.compile(r"\b_S\d+\b.*\b(?:not declared|undeclared)")
_ON_CPU: Final = {True: "Slang's C++ of it does not compile", False: "the CPU can't have it"}
_ON_TARGET: Final = "uses features that are not available in"
"""Slang's message on a function that this target, or a compute shader, can't have."""
_FOR_GPUS: Final = "values and derivatives: the reference needs a compute shader on the CPU, and Slang makes none of it"
_OTHERWISE: Final = "write that part in another way, and report it to Slang"


_CLIPPED: Final = "Slang can't differentiate what it calls without its clip"


def refused(plan: SubjectPlan, f64: Built, f32: Built, module: Module) -> Result | None:
    """Return the result of a subject that can't run; None if it can.

    Args:
        plan: The plan of the subject's check.
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
    in_f64 = _without_untried(in_f64, f64, kernels)
    in_both = [r for r in in_f64 if _same(r, f32)]
    if in_both:
        itself = [r for r in in_both if r.mode in ("", Mode.FORWARD.value)]
        if subject.chosen and all(r.reason.startswith(SLANG) for r in in_both):
            reason = f"it is generic, and Slang refuses {_named(in_both[0], plan)} for these arguments"
            return without_numbers(plan, Reason(CheckOutcome.NOTHING_TO_CHECK, f"{reason}: {in_both[0].reason}"))
        return _uncompiled(itself or in_both, plan, f32, module)
    if in_f64:
        return without_numbers(
            plan, Reason(CheckOutcome.NO_TWIN, f"there is no float64 twin of it: {in_f64[0].reason}")
        )
    return None


def _without_untried(refusals: Sequence[Refusal], f64: Built, kernels: Sequence[str]) -> list[Refusal]:
    """Return the refusals without derivatives that were not tried, if another derivative can be checked instead."""
    entries = [entry for library in f64.libraries for entry in library.entries if entry.kernel in kernels]
    tried = [r for r in refusals if not (r.mode and r.reason.startswith(GIVEN_UP))]
    return tried if any(entry.mode is not Mode.FORWARD for entry in entries) else list(refusals)


def without_refused_instances(subjects: Sequence[Subject], f64: Built, f32: Built) -> list[Subject]:
    """Return the subjects without instances of generic functions that Slang refuses, such as for a static assertion.

    A function of which nothing is left is skipped, with Slang's reason.
    """
    reasons = {
        r.kernel: r.reason
        for r in f64.refusals
        if r.mode in ("", Mode.FORWARD.value) and r.reason.startswith(SLANG) and _same(r, f32)
    }
    refused = [s for s in subjects if s.chosen and s.kernel in reasons]
    left = {s.plain for s in subjects if s not in refused}
    kept: list[Subject] = []
    for subject in subjects:
        if subject not in refused:
            kept.append(subject)
        elif subject.plain not in left:
            left.add(subject.plain)
            why = f"it is generic, and Slang refuses it for '{subject.name}': {reasons[subject.kernel]}"
            kept.append(replace(subject, name=subject.plain, apart="", kernel="", skipped=why))
    return kept


def _broken(plan: SubjectPlan, broken: Disagreement) -> Result:
    """Return the result of a part of a Slang file that does not compile."""
    result = without_numbers(plan, Reason(broken.outcome, broken.message))
    if broken.outcome is CheckOutcome.SLOW_COMPILE:
        return result
    return replace(result, failures=(failure_of(broken, plan.command),))


def _same(refusal: Refusal, f32: Built) -> list[Refusal]:
    """Return the refusals of the float32 build that concern the same as one of the float64 build."""
    return [r for r in f32.refusals if r.kernel == refusal.kernel and r.mode in (refusal.mode, "")]


def _uncompiled(refusals: Sequence[Refusal], plan: SubjectPlan, f32: Built, module: Module) -> Result:
    """Return the result of a subject that compiles in neither precision: inconclusive if only the CPU is at fault."""
    alike = [_same(refusal, f32)[0] for refusal in refusals]
    slow = next((r for r in (*refusals, *alike) if r.is_slow), None)
    if slow is not None:
        what_helps = ALONE if slow.reason.startswith(GIVEN_UP) else SLOW_REMEDY
        reason = f"{_named(refusals[0], plan)} is not compiled: {slow.reason}. {what_helps}"
        return without_numbers(plan, Reason(CheckOutcome.SLOW_COMPILE, reason))
    if all(r.elsewhere == "" or _ON_TARGET in r.reason for r in alike):
        return _not_on_cpu(plan, refusals[0], alike[0], module)
    unpaired = next(filter(None, (_UNPAIRED.search(one.reason) for one in alike)), None)
    if unpaired is not None:
        struct = (unpaired[1] or unpaired[2]).partition("[")[0]
        reason = f"{struct} is IDifferentiable and has nothing that carries gradient: write no_diff before it"
        return without_numbers(plan, Reason(CheckOutcome.EMPTY_DIFFERENTIAL, reason))
    if any(_SAME_NAME.search(one.reason) for one in alike):
        reason = "Slang has several types of one name: write row_major or column_major before the parameter"
        return without_numbers(plan, Reason(CheckOutcome.NO_HOST_CODE, reason))
    failures = [_failure(one, plan, module) for one in alike]
    return without_numbers(plan, Reason(CheckOutcome.NOT_COMPILED, failures[0].message), failures)


def _not_on_cpu(plan: SubjectPlan, refusal: Refusal, alike: Refusal, module: Module) -> Result:
    """Return the result of a subject that Slang compiles for GPUs, but not for the CPU."""
    reason = f"{_named(refusal, plan)} can't be run: {_ON_CPU[alike.cpp]}: {alike.reason}"
    cause = f"a defect of Slang, and of its C++ only: {_remedy(alike, module)}" if alike.cpp else _FOR_GPUS
    result = without_numbers(plan, Reason(CheckOutcome.NO_HOST_CODE, reason))
    return replace(result, notes=(*plan.notes, Note(NoteKind.MISSING, cause)))


def _failure(refusal: Refusal, plan: SubjectPlan, module: Module) -> Failure:
    message = f"{_named(refusal, plan)} does not compile: {refusal.reason}"
    if not refusal.cpp:
        defect = remedy_of_defect(refusal.reason)
        cause = f"a defect of Slang: {defect}" if defect else ""
        return failure_of(Disagreement(Leg.COMPILE, CheckOutcome.NOT_COMPILED, message, cause=cause), plan.command)
    message = f"{_named(refusal, plan)} does not compile, neither as C++ nor for SPIR-V: {refusal.reason}"
    cause = f"a defect of Slang, for GPUs too: {_remedy(refusal, module)}"
    notes = (f"c++: {refusal.reason}", f"SPIR-V: {refusal.elsewhere}") if refusal.elsewhere else ()
    return failure_of(
        Disagreement(Leg.COMPILE, CheckOutcome.NOT_COMPILED, message, cause=cause, notes=notes), plan.command
    )


def _named(refusal: Refusal, plan: SubjectPlan) -> str:
    """Return the refused mode or subject, as the beginning of a sentence."""
    name = _NAMES.get(refusal.mode, "it")
    pipeline = plan.subject.pipeline
    return name if pipeline is None else f"{pipeline.shown.get(refusal.kernel, refusal.kernel)}: {name}"


def _remedy(refusal: Refusal, module: Module) -> str:
    return remedy(module, refusal.kernel) if _UNDECLARED.search(refusal.reason) else _OTHERWISE
