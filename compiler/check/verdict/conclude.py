"""Combine the findings of each region into the result of a subject, and decide its verdict.

Samples out of range can only accuse. So only those that show a failure are kept, and they never make a result
inconclusive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.budget import OutOfTimeError, budget
from slangad.compiler.check.model.findings import State
from slangad.compiler.check.model.outcomes import CheckOutcome, Reason
from slangad.compiler.check.sampling.samples import AT_NUMBER
from slangad.compiler.check.verdict.decide import failure_of, reason_of, result_of, verdict_of
from slangad.compiler.check.verdict.describe import FINITE, NOISY, SMOOTH, Describer
from slangad.compiler.check.verdict.explain.ignored import ignored
from slangad.compiler.check.verdict.explain.races import with_races
from slangad.compiler.check.verdict.explain.stages import with_stages
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.types import FLOATING, INTEGRAL
from slangad.compiler.report.figures import listed
from slangad.compiler.report.model import Counts, LeftAside, Leg, LegResult, LegState, Note, NoteKind, Result

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Compared, Findings
    from slangad.compiler.check.model.outcomes import Disagreement
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.samples import RegionSamples
    from slangad.compiler.check.sampling.in_range import CheckScope
    from slangad.compiler.report.model import Failure, Float32, Sample

_NOTHING: Final = Counts()
_UNFROZEN: Final = "a part of it is declared to carry no gradient, and the reference can't keep that part constant"
_ONLY_VALUES: Final = "nothing in it carries a gradient: its values were compared in two orders of threads"
_NOT_RUN: Final = "outside [-1, 1], where nobody declared a range"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was computed and compared at the samples of one region.

    Attributes:
        values: The differentiable results at the samples.
        jacobians: By leg.
        entries: The outcome of every entry.
        legs: The outcomes of legs that need no reference.
    """

    drawn: RegionSamples
    values: Floats
    jacobians: Mapping[Leg, Floats]
    entries: Findings
    legs: Sequence[Compared] = ()


@dataclass(frozen=True, slots=True)
class ResultPart:
    """The part of a result from the samples of one region, with attributes as in ``report.model.Result``."""

    reasons: tuple[Reason, ...] = ()
    legs: tuple[LegResult, ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    counts: Counts = _NOTHING
    samples: tuple[Sample, ...] = ()
    float32: Float32 | None = None


def part_of(plan: SubjectPlan, scope: CheckScope, evidence: Evidence, before: Sequence[ResultPart]) -> ResultPart:
    """Return the part of the result from the samples of a region, in range first, then out of range."""
    if before:
        return _part_out_of_range(plan, scope, evidence, len(before[0].samples))
    return _part_in_range(plan, scope, evidence)


def _part_in_range(plan: SubjectPlan, scope: CheckScope, evidence: Evidence) -> ResultPart:
    """Return the part of the result from samples in range: all findings."""
    describer, drawn = _describer(scope, evidence), evidence.drawn
    failures = [*describer.failures(plan.command)]
    failures += [one for compared in evidence.legs for one in describer.other(compared, plan.command)]
    failures += [failure_of(one.failure, plan.command) for one in evidence.legs if one.failure is not None]
    failures = _explained(plan, scope, failures, evidence)
    noise = verdict_of(CheckOutcome.NOT_REPRODUCIBLE)
    if any(failure.verdict is noise for failure in failures):  # what other legs see may be the noise
        failures = [failure for failure in failures if failure.verdict is noise]
    legs = [*(describer.leg(leg) for leg in evidence.jacobians), *(one.result for one in evidence.legs)]
    return ResultPart(
        tuple(_reasons(plan, scope, evidence, describer)),
        (*legs, *_missing_legs(plan)),
        tuple(failures),
        (
            *_outside_note(drawn),
            *_blocks_note(scope),
            *drawn.notes,
            *_ignored(scope, evidence),
            *_missing_notes(plan),
            *(Note(NoteKind.MISSING, one.result.detail) for one in evidence.legs if one.is_noted),
            *describer.notes(),
        ),
        _counts(evidence.entries),
        describer.samples(evidence.legs),
        _float32(plan, scope, evidence.legs),
    )


def _part_out_of_range(plan: SubjectPlan, scope: CheckScope, evidence: Evidence, first: int) -> ResultPart:
    """Return the part of the result from samples out of range: those with findings, numbered from ``first`` on."""
    describer, states = _describer(scope, evidence), list(evidence.entries.states.values())
    worst = np.max([of_leg.max(axis=(1, 2)) for of_leg in states], axis=0)
    agrees = (np.max(states, axis=0) == State.OK).any(axis=(1, 2))
    at_number = np.array([origin == AT_NUMBER for origin in evidence.drawn.samples.origins])
    bent = at_number & ((worst == State.KINK) | (worst == State.JUMP))
    kept = np.flatnonzero((worst == State.OK) | (worst >= State.KINK_BAD) | bent)
    numbers = {int(old): first + k for k, old in enumerate(kept)}
    samples = describer.samples(())
    counts = Counts(
        drawn=len(kept),
        compared=int((agrees | (worst >= State.KINK_BAD))[kept].sum()),
        kinks=int((worst[kept] == State.KINK).sum()),
        jumps=int((worst[kept] == State.JUMP).sum()),
        entries=sum(int((of_leg == State.OK).sum()) for of_leg in states),
    )
    return ResultPart(
        tuple(_kinks_out_of_range(int(bent.sum()))),
        tuple(describer.leg(leg) for leg in evidence.jacobians),
        tuple(_renumbered(_explained(plan, scope, describer.failures(plan.command), evidence), numbers)),
        evidence.drawn.notes,
        counts,
        tuple(replace(samples[old], number=number) for old, number in numbers.items()),
    )


def part_of_values(plan: SubjectPlan, orders: Compared) -> ResultPart:
    """Return the part of a kernel without gradient whose values were compared in two orders of threads."""
    result = orders.result
    undecided = result.state is LegState.UNDECIDED
    return ResultPart(
        (Reason(CheckOutcome.NO_SHAPES, result.detail),) if undecided else (),
        (result,),
        () if orders.failure is None else (failure_of(orders.failure, plan.command),),
        (Note(NoteKind.MISSING, _ONLY_VALUES),),
    )


def part_without_samples(
    plan: SubjectPlan, scope: CheckScope, drawn: RegionSamples, before: Sequence[ResultPart]
) -> ResultPart:
    """Return the part of the result from a region without samples."""
    reasons = () if before else (Reason(CheckOutcome.OUT_OF_BOUNDS, _outside(plan, scope, drawn)),)
    return ResultPart(reasons, notes=drawn.notes)


def conclude(
    plan: SubjectPlan, parts: Sequence[ResultPart], lost: Iterable[Disagreement], *, frozen: bool = False
) -> Result:
    """Return the result of a subject: its parts together, with parameters that have lost their gradient.

    Args:
        plan: The plan of the subject's check.
        parts: The parts from samples in range, then out of range; none if the subject has no mode to check.
        lost: Parameters without gradient that the result depends on.
        frozen: True if a twin freezes what is declared to carry no gradient.
    """
    if not parts:
        reason = "; ".join(reason for _, reason in plan.missing) or "it has no derivative"
        parts = [ResultPart((Reason(CheckOutcome.NO_MODE, reason),))]
    if plan.unclear:
        parts = [_undecided(part) for part in parts]
    failures = [failure_of(one, plan.command) for one in lost]
    reasons = [reason for part in parts for reason in part.reasons]
    reasons += [Reason(CheckOutcome.LOST_GRADIENT, reason_of(failure)) for failure in failures]
    facts = plan.subject.facts
    if facts is not None and facts.bits and not frozen:
        reasons.append(Reason(CheckOutcome.UNKNOWN_INTENT, facts.bits))
    result = result_of(plan, (failure for part in reversed(parts) for failure in part.failures), reasons)
    first = parts[0]
    float32 = first.float32
    for part in parts[1:]:
        if float32 is not None and part.samples:
            float32 = replace(float32, left=(*float32.left, LeftAside(len(part.samples), _NOT_RUN)))
    return replace(
        result,
        legs=_legs_with(first.legs, [leg for part in parts[1:] for leg in part.legs], lost=bool(failures)),
        failures=(*(failure for part in parts for failure in part.failures), *failures),
        notes=(*plan.notes, *(note for part in parts for note in part.notes)),
        counts=_sum_of([part.counts for part in parts]),
        samples=tuple(sample for part in parts for sample in part.samples),
        float32=float32,
    )


def _undecided(part: ResultPart) -> ResultPart:
    """Return a part whose comparisons with the reference accuse nothing, except of derivatives that are no numbers."""
    compared = (failure for failure in part.failures if failure.leg in (Leg.REVERSE, Leg.FORWARD))
    accusing = [failure for failure in compared if failure.found is None or math.isfinite(failure.found)]
    if not accusing:
        return part
    reason = Reason(CheckOutcome.UNKNOWN_INTENT, f"{_UNFROZEN}: {reason_of(accusing[0])}")
    legs = (replace(leg, state=LegState.UNDECIDED) if leg.state is LegState.DISAGREES else leg for leg in part.legs)
    kept = tuple(failure for failure in part.failures if failure not in accusing)
    return replace(part, failures=kept, reasons=(*part.reasons, reason), legs=tuple(legs))


def _describer(scope: CheckScope, evidence: Evidence) -> Describer:
    f64 = scope.functions.f64
    samples = evidence.drawn.samples
    return Describer(f64.inputs, f64.results, samples, evidence.values, evidence.entries, evidence.jacobians)


def _explained(plan: SubjectPlan, scope: CheckScope, failures: Iterable[Failure], evidence: Evidence) -> list[Failure]:
    """Return the failures with races of threads, and stages of pipelines, that explain them."""
    companions = scope.functions.companions
    rows, known = evidence.drawn.samples.rows, list(failures)
    try:
        raced = with_races(known, companions.indices, rows, companions.launches)
        return with_stages(raced, companions.frozen, plan.seed)
    except OutOfTimeError:
        return known


def _reasons(plan: SubjectPlan, scope: CheckScope, evidence: Evidence, describer: Describer) -> Iterator[Reason]:
    """Yield the reasons why samples in range are too few, and the kinks that they met."""
    entries, blocks, drawn = evidence.entries, scope.blocks, evidence.drawn
    ranges = _ranges(plan, scope, FLOATING)
    if not entries.finite.any():
        yield Reason(CheckOutcome.NOT_FINITE, f"it is not finite at any sample: {FINITE}{ranges}")
    if blocks is not None and blocks.compared < tol.BLOCKS_ENOUGH * blocks.blocks:
        compared = f"{blocks.compared} of {blocks.blocks} blocks of inputs"
        yield Reason(CheckOutcome.FEW_BLOCKS, f"only {compared} could be compared: {NOISY}; {SMOOTH}{ranges}")
    if drawn.outside > tol.OUTSIDE_INDICES_MOST * drawn.number:
        yield Reason(CheckOutcome.OUT_OF_BOUNDS, _outside(plan, scope, drawn))
    cut = _cut(evidence)
    if cut:
        yield Reason(CheckOutcome.TOO_MUCH_WORK, budget().over(cut))
    few = describer.untested(tol.SAMPLES_ENOUGH, tol.SAMPLES_ENOUGH_LEAST) or describer.uncompared(tol.ENTRY_ENOUGH)
    if few:
        yield Reason(CheckOutcome.FEW_SAMPLES, f"{few}{ranges}")
    device = scope.functions.companions.device
    if isinstance(device, str):
        yield Reason(CheckOutcome.NOT_ON_DEVICE, f"it was not compared on the device: {device}")
    if any(((of_leg == State.KINK) | (of_leg == State.JUMP)).any() for of_leg in entries.states.values()):
        yield Reason(CheckOutcome.AT_KINKS, describer.kink_reason())


def _cut(evidence: Evidence) -> str:
    """Return what did not end in time."""
    legs = [one.result.leg.value for one in evidence.legs if one.is_cut]
    named = f"the leg{'s' if len(legs) > 1 else ''} {listed(legs, len(legs))}"
    return "; ".join([*evidence.entries.cut, *([named] if legs else [])])


def _kinks_out_of_range(count: int) -> Iterator[Reason]:
    if count:
        plural = "s" if count > 1 else ""
        yield Reason(CheckOutcome.AT_KINKS, f"right, also at {count} kink{plural} or jump{plural} outside [-1, 1]")


def _renumbered(failures: Iterable[Failure], numbers: Mapping[int, int]) -> Iterator[Failure]:
    for failure in failures:
        sample = failure.sample
        yield (
            failure
            if sample is None
            else replace(failure, sample=replace(sample, number=numbers.get(sample.number, sample.number)))
        )


def _legs_with(legs: Iterable[LegResult], more: Iterable[LegResult], *, lost: bool) -> tuple[LegResult, ...]:
    """Return the legs with what was compared out of range; reverse mode disagrees if a gradient is lost."""
    further = {leg.leg: leg for leg in more if leg.compared}

    def combined(leg: LegResult) -> LegResult:
        other = further.get(leg.leg)
        if other is not None:
            worse = other if other.state is LegState.DISAGREES else leg
            leg = replace(worse, compared=leg.compared + other.compared, worst=max(leg.worst, other.worst))
        return replace(leg, state=LegState.DISAGREES) if lost and leg.leg is Leg.REVERSE else leg

    return tuple(combined(leg) for leg in legs)


def _float32(plan: SubjectPlan, scope: CheckScope, legs: Sequence[Compared]) -> Float32 | None:
    """Return the coverage of float32, and the device that ran it."""
    single = next((compared.single for compared in legs if compared.single is not None), None)
    device = scope.functions.companions.device
    elsewhere = device is not None and not isinstance(device, str)
    return None if single is None else replace(single, device=plan.device if elsewhere else "cpu")


def _outside(plan: SubjectPlan, scope: CheckScope, drawn: RegionSamples) -> str:
    full = drawn.full
    if full is not None:
        return f"{full.shown(drawn.number)}: {full.remedy}{_ranges(plan, scope, FLOATING)}"
    where = f"at {drawn.outside} of {drawn.number} samples"
    ranges = _ranges(plan, scope, INTEGRAL)
    return f"an index is out of bounds {where}: declare ranges of the integers that it depends on{ranges}"


def _ranges(plan: SubjectPlan, scope: CheckScope, scalars: Collection[str]) -> str:
    """Return the option that declares a range of an input of these types, of one without a range if there is one."""
    names = [
        column.anywhere or column.group or column.path
        for column in scope.functions.f64.inputs.columns
        if column.scalar in scalars
    ]
    declared = {one.path for one in plan.ranges}
    name = next((name for name in names if name not in declared), names[0] if names else "")
    return f" (--range {plan.subject.label}.{name}=LO:HI)" if name else ""


def _outside_note(drawn: RegionSamples) -> Iterator[Note]:
    full, outside = drawn.full, drawn.outside
    if full is not None:
        yield Note(NoteKind.SAMPLES, f"{full.shown(drawn.number)}, which are left out; {full.needed} would do")
        outside -= full.samples
    if outside:
        yield Note(
            NoteKind.SAMPLES, f"an index is out of bounds at {outside} of {drawn.number} samples, which are left out"
        )


def _blocks_note(scope: CheckScope) -> Iterator[Note]:
    blocks = scope.blocks
    if blocks is None:
        return
    shown = f"{len(blocks.inputs)} inputs and {len(blocks.results)} results one by one"
    yield Note(NoteKind.SAMPLES, f"looked at its inputs in {blocks.blocks} blocks, then {shown}")
    if blocks.held:
        active = f", of which {len(blocks.active)} had a gradient" if blocks.active else ""
        inputs = len(scope.functions.f64.inputs.columns) + blocks.held
        along = f"compared all {inputs} inputs{active}, along random directions at {blocks.samples} samples"
        yield Note(NoteKind.SAMPLES, f"{along}; elsewhere {blocks.held} of them keep the values of one sample")


def _ignored(scope: CheckScope, evidence: Evidence) -> Iterator[Note]:
    """Yield notes on gradients that were declared away."""
    if scope.functions.companions.frozen is not None:
        yield from ignored(scope.functions.f64, evidence.drawn.samples, evidence.entries)


def _missing_legs(plan: SubjectPlan) -> Iterator[LegResult]:
    for mode, reason in plan.missing:
        yield LegResult(Leg.REVERSE if mode is Mode.BACKWARD else Leg.FORWARD, LegState.MISSING, detail=reason)


def _missing_notes(plan: SubjectPlan) -> Iterator[Note]:
    for mode, reason in plan.missing:
        name = "reverse" if mode is Mode.BACKWARD else "forward"
        yield Note(NoteKind.MISSING, f"{name} mode is not checked: {reason}")


def _counts(entries: Findings) -> Counts:
    states = np.max(list(entries.states.values()), axis=0)
    worst = states.reshape(len(states), -1).max(axis=1, initial=0)
    finite = entries.finite

    def having(state: State) -> int:
        return int((states == state).any(axis=(1, 2)).sum())

    return Counts(
        drawn=len(states),
        compared=int(((states == State.OK) | (states >= State.KINK_BAD)).any(axis=(1, 2)).sum()),
        kinks=having(State.KINK),
        jumps=having(State.JUMP),
        not_finite=int((~finite).sum()),
        undecided=int(((worst == State.UNDECIDED) & finite).sum()),
        entries=int(sum((of_leg == State.OK).sum() for of_leg in entries.states.values())),
        unguarded=having(State.UNGUARDED),
    )


def _sum_of(counts: Sequence[Counts]) -> Counts:
    return Counts(
        sum(one.drawn for one in counts),
        sum(one.compared for one in counts),
        sum(one.kinks for one in counts),
        sum(one.jumps for one in counts),
        sum(one.not_finite for one in counts),
        sum(one.undecided for one in counts),
        sum(one.entries for one in counts),
        sum(one.unguarded for one in counts),
    )
