"""List all legs in running order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.legs.accumulation import compare_accumulation
from slangad.compiler.check.legs.clipped import compare_clipped
from slangad.compiler.check.legs.float32 import compare_float32
from slangad.compiler.check.legs.loop_bounds import compare_bounds
from slangad.compiler.check.legs.lost_additions import compare_memory
from slangad.compiler.check.legs.primal import compare_primal
from slangad.compiler.check.legs.repetition import compare_repetition
from slangad.compiler.check.legs.stages import compare_stages
from slangad.compiler.check.legs.transpose import compare_transpose
from slangad.compiler.check.model.budget import OutOfTimeError
from slangad.compiler.check.model.findings import Compared
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import Leg, LegResult, LegState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.check.legs.context import LegContext


@dataclass(frozen=True, slots=True)
class LegEntry:
    """One leg: when it applies, and the comparison."""

    leg: Leg
    applies: Callable[[LegContext], bool]
    compare: Callable[[LegContext], Compared]


def _has_backward(context: LegContext) -> bool:
    return Mode.BACKWARD in context.f64.entries and Mode.BACKWARD not in dict(context.plan.missing)


def _computes_together(context: LegContext) -> bool:
    launches = context.companions.launches
    return launches is not None and bool(launches.group)


def _clips(context: LegContext) -> bool:
    return context.plan.clip is not None or context.plan.limit is not None


def _has_threads(context: LegContext) -> bool:
    single = context.plan.subject.directives.single_thread
    racing, waving = context.companions.racing, context.companions.waving
    return _has_backward(context) and (waving is not None or (racing is not None and not single))


OUT_OF_TIME: Final = "it did not end in time"
LEGS: Final = (
    LegEntry(Leg.TRANSPOSE, lambda c: c.plan.limit is None, compare_transpose),
    LegEntry(Leg.REPEAT, lambda c: Leg.REVERSE in c.jacobians or _computes_together(c), compare_repetition),
    LegEntry(Leg.INTENT, lambda c: _clips(c) and _has_backward(c), compare_clipped),
    LegEntry(Leg.PRIMAL, lambda c: Leg.FORWARD in c.jacobians, compare_primal),
    LegEntry(Leg.ACCUMULATION, lambda c: c.companions.launches is not None and _has_backward(c), compare_accumulation),
    LegEntry(Leg.ACCUMULATION, _has_threads, compare_memory),
    LegEntry(Leg.BOUND, lambda c: c.companions.watch is not None, compare_bounds),
    LegEntry(Leg.JOINED, lambda c: c.companions.apart is not None and _has_backward(c), compare_stages),
    LegEntry(Leg.FLOAT32, lambda c: c.f32 is not None or c.companions.device is not None, compare_float32),
)
"""All legs but those of the reference (``Leg.REVERSE``, ``Leg.FORWARD``) and of the build (``Leg.COMPILE``)."""


def compare_legs(context: LegContext) -> Iterator[Compared]:
    """Yield the outcome of every leg that applies; a leg that does not end in time is undecided."""
    for entry in LEGS:
        if entry.applies(context):
            try:
                yield entry.compare(context)
            except OutOfTimeError:
                yield Compared(LegResult(entry.leg, LegState.UNDECIDED, detail=OUT_OF_TIME), is_cut=True)
