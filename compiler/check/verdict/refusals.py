"""What can't be run: subjects with what did not build go in, the results that stand for them come out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.subjects.undeclared import remedy
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import Failure, Leg, Note, NoteKind, Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from slangad.compiler.check.build.libraries import Built, Refusal
    from slangad.compiler.check.model.plan import Plan
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.ir.nodes import Module

_NO_MODE: Final = re.compile(r"'(fwd|bwd)_diff' is not a member of")
_NAMES: Final = {
    Mode.FORWARD.value: "it",
    Mode.BACKWARD.value: "reverse mode of it",
    Mode.JVP.value: "forward mode of it",
}
_UNPAIRED: Final = re.compile(r"expected an expression of type 'DifferentialPair<(\w+)>', got '\1'")
"""What Slang says of our call with a struct that is ``IDifferentiable`` and has nothing to differentiate."""
_UNDECLARED: Final = re.compile(r"\b_S\d+\b.*\b(?:not declared|undeclared)")
_OTHERWISE: Final = "write that part in another way, and report it to Slang"


def refused(plan: Plan, wide: Built, narrow: Built, module: Module) -> Result | None:
    """The result of a subject of a module that can't run, if it can't."""
    from slangad.compiler.check.verdict.decide import blank

    subject = plan.subject
    if subject.skipped:
        return blank(plan, Verdict.SKIPPED, subject.skipped)
    if subject.failure is not None:
        failure = replace(subject.failure, reproduce=plan.command)
        result = blank(plan, failure.verdict, failure.message)
        return replace(result, failures=(failure,)) if failure.verdict is Verdict.FAIL else result
    own = subject.pipeline.kernels if subject.pipeline else (subject.kernel,)
    mine = [r for r in wide.refusals if r.kernel in own and not _NO_MODE.search(r.reason)]
    both = [r for r in mine if _refused_too(r, narrow)]
    if both:
        itself = [r for r in both if r.mode in ("", Mode.FORWARD.value)]
        return _uncompiled(itself or both, plan, narrow, module)
    if mine:
        return blank(plan, Verdict.INCONCLUSIVE, f"there is no float64 twin of it: {mine[0].reason}")
    return None


def twins_lost(subjects: Collection[Subject], wide: Built, narrow: Built) -> bool:
    """Whether none of several subjects that compile has a float64 twin: one of them may be why."""
    lost = {r.kernel for r in wide.refusals if not _refused_too(r, narrow)}
    return len(subjects) > 1 and all(subject.kernel in lost for subject in subjects)


def _refused_too(refusal: Refusal, narrow: Built) -> bool:
    return bool(_same(refusal, narrow))


def _same(refusal: Refusal, narrow: Built) -> list[Refusal]:
    """What float32 is refused for, of what float64 is."""
    return [r for r in narrow.refusals if r.kernel == refusal.kernel and r.mode in (refusal.mode, "")]


def _uncompiled(refusals: Sequence[Refusal], plan: Plan, narrow: Built, module: Module) -> Result:
    """The result of what compiles in neither precision: no verdict on it where only the C++ of Slang is at fault."""
    from slangad.compiler.check.verdict.decide import blank

    alike = [_same(refusal, narrow)[0] for refusal in refusals]
    if all(r.cpp for r in (*refusals, *alike)) and not any(r.elsewhere for r in alike):
        reason = f"{_named(refusals[0], plan)} can't be run: Slang's C++ of it does not compile: {alike[0].reason}"
        note = Note(NoteKind.MISSING, f"a defect of Slang, and of its C++ only: {_remedy(alike[0], module)}")
        return replace(blank(plan, Verdict.INCONCLUSIVE, reason), notes=(*plan.notes, note))
    unpaired = next(filter(None, (_UNPAIRED.search(one.reason) for one in alike)), None)
    if unpaired is not None:
        struct = unpaired[1]
        reason = f"{struct} is IDifferentiable and has nothing that carries gradient: write no_diff before it"
        return blank(plan, Verdict.INCONCLUSIVE, reason)
    failures = tuple(_failure(one, plan, module) for one in alike)
    return replace(blank(plan, Verdict.FAIL, failures[0].message), failures=failures)


def _failure(refusal: Refusal, plan: Plan, module: Module) -> Failure:
    message = f"{_named(refusal, plan)} does not compile: {refusal.reason}"
    if not refusal.cpp:
        return Failure(Leg.COMPILE, Verdict.FAIL, message, reproduce=plan.command)
    message = f"{_named(refusal, plan)} does not compile, neither as C++ nor for SPIR-V: {refusal.reason}"
    cause = f"a defect of Slang, for GPUs too: {_remedy(refusal, module)}"
    notes = (f"c++: {refusal.reason}", f"SPIR-V: {refusal.elsewhere}") if refusal.elsewhere else ()
    return Failure(Leg.COMPILE, Verdict.FAIL, message, cause=cause, notes=notes, reproduce=plan.command)


def _named(refusal: Refusal, plan: Plan) -> str:
    """What is refused, as a sentence begins."""
    name = _NAMES.get(refusal.mode, "it")
    pipeline = plan.subject.pipeline
    return name if pipeline is None else f"{pipeline.shown.get(refusal.kernel, refusal.kernel)}: {name}"


def _remedy(refusal: Refusal, module: Module) -> str:
    return remedy(module, refusal.kernel) if _UNDECLARED.search(refusal.reason) else _OTHERWISE
