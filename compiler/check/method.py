"""The method: from the functions of one subject to its result, one call a step."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.kinks.corners import compare_corners
from slangad.compiler.check.kinks.ties import excuse_ties, leave_ties_open
from slangad.compiler.check.kinks.unguarded import mark_unguarded
from slangad.compiler.check.legs.context import LegContext
from slangad.compiler.check.legs.lost_gradients import lost_gradients
from slangad.compiler.check.legs.orders import compare_orders
from slangad.compiler.check.legs.table import compare_legs
from slangad.compiler.check.model.budget import OutOfTimeError, budget
from slangad.compiler.check.model.names import VALUES_ONLY
from slangad.compiler.check.model.outcomes import CheckOutcome, Reason
from slangad.compiler.check.reference.entries import compare_entries
from slangad.compiler.check.reference.function import ExaminedFunction
from slangad.compiler.check.reference.noise import noise_of
from slangad.compiler.check.reference.overflow import overflows
from slangad.compiler.check.reference.padding import excuse_padding
from slangad.compiler.check.run.launch import LaunchRunner
from slangad.compiler.check.sampling.in_range import draw_in_range, scope_of
from slangad.compiler.check.sampling.out_of_range import draw_out_of_range, has_custom_derivative
from slangad.compiler.check.verdict.conclude import (
    Evidence,
    ResultPart,
    conclude,
    part_of,
    part_of_values,
    part_without_samples,
)
from slangad.compiler.check.verdict.decide import is_settled
from slangad.compiler.check.verdict.slices import slices_of
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Compared
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.samples import RegionSamples
    from slangad.compiler.check.run.companions import SubjectFunctions
    from slangad.compiler.check.sampling.in_range import CheckScope
    from slangad.compiler.report.model import Result


@dataclass(frozen=True, slots=True)
class Region:
    """Samples that are drawn in one way, and what they may say.

    Attributes:
        draw: Returns the samples.
        only_accuses: True if the samples lie where nobody declared that the function is used. They are looked at only
            for custom derivatives that nothing else has accused yet, in float64, entry by entry, and can't acquit.
    """

    draw: Callable[[SubjectPlan, CheckScope], RegionSamples]
    only_accuses: bool


REGIONS: Final = (Region(draw_in_range, only_accuses=False), Region(draw_out_of_range, only_accuses=True))
"""The samples of a subject in the order in which they are looked at."""


def check_subject(plan: SubjectPlan, functions: SubjectFunctions) -> Result:
    """Return the result of one subject.

    Args:
        plan: The plan of the subject's check.
        functions: Its builds in both precisions, and its companions.
    """
    time = budget()
    parts: list[ResultPart] = []
    with time.until(tol.TIME_SHARE):
        scope = scope_of(plan, functions)
        if _has_values_only(functions):
            parts.append(part_of_values(plan, _orders_of_values(plan, functions)))
    for region in REGIONS if scope.legs else ():
        if not region.only_accuses or _may_be_accused(plan, scope, parts):
            parts.append(_part(plan, scope, region, parts))
    result = conclude(plan, parts, lost_gradients(plan, functions), frozen=functions.companions.frozen is not None)
    with time.until(tol.TIME_PICTURES), suppress(OutOfTimeError):
        result = replace(result, slices=slices_of(scope, result) if scope.legs else ())
    return replace(result, seconds=time.passed, seed=plan.seed)


def _part(plan: SubjectPlan, scope: CheckScope, region: Region, before: Sequence[ResultPart]) -> ResultPart:
    """Return the part of the result from the samples of a region; ``before`` has those of the regions before it."""
    try:
        with budget().until(tol.TIME_SHARE):
            drawn = region.draw(plan, scope)
            evidence = None if drawn.empty else _evidence(plan, scope, region, drawn)
    except OutOfTimeError:
        if not before:
            raise
        return ResultPart((Reason(CheckOutcome.TOO_MUCH_WORK, budget().over("samples outside [-1, 1]")),))
    if evidence is None:
        return part_without_samples(plan, scope, drawn, before)
    return part_of(plan, scope, evidence, before)


def _evidence(plan: SubjectPlan, scope: CheckScope, region: Region, drawn: RegionSamples) -> Evidence:
    """Compare everything at the samples of a region."""
    samples = drawn.samples
    values, jacobians = _evaluated(scope, samples.rows)
    function = _examined(plan, scope, samples.rows, values)
    entries = compare_entries(function, samples, values, jacobians)
    unclipped = {leg: function.unclipped(leg, jacobian, entries.expected) for leg, jacobian in jacobians.items()}
    try:
        compare_corners(function, samples, unclipped, entries)
        excuse_ties(function, samples, unclipped, entries, scope.functions.floating)
    except OutOfTimeError:
        leave_ties_open(function, samples, entries, scope.functions.floating)
    excuse_padding(plan.subject.memory, *scope.functions.active, jacobians, entries)
    mark_unguarded(samples, jacobians, entries)
    context = LegContext(plan, *scope.functions, samples, jacobians, entries)
    legs = () if region.only_accuses else tuple(compare_legs(context))
    return Evidence(drawn, values, jacobians, entries, legs)


def _has_values_only(functions: SubjectFunctions) -> bool:
    """Return True for a kernel that carries no gradient and whose threads compute together."""
    f64, launches = functions.f64, functions.companions.launches
    return isinstance(f64, LaunchRunner) and f64.kernel.modes == VALUES_ONLY and bool(launches and launches.group)


def _orders_of_values(plan: SubjectPlan, functions: SubjectFunctions) -> Compared:
    """Compare the values of a kernel without gradient in both orders of the threads of its groups."""
    f64, launches = functions.f64, functions.companions.launches
    assert isinstance(f64, LaunchRunner)  # noqa: S101  (_has_values_only)
    assert launches is not None  # noqa: S101  (_has_values_only)
    return compare_orders(launches, plan, f64.extents, gradients=False)


def _may_be_accused(plan: SubjectPlan, scope: CheckScope, parts: Sequence[ResultPart]) -> bool:
    """Return True if samples out of range can add something to the parts so far."""
    if not has_custom_derivative(plan, scope):
        return False
    return all(part.samples and not is_settled(part.failures) for part in parts)


def _evaluated(scope: CheckScope, rows: Floats) -> tuple[Floats, dict[Leg, Floats]]:
    """Return values and the Jacobians of every mode; values are NaN where a derivative overflows on its way."""
    functions = scope.functions
    with np.errstate(all="ignore"):
        values = functions.evaluate(rows, rows)
        jacobians = {leg: functions.jacobian(leg)(rows) for leg in scope.legs}
    values[overflows(functions.f64, rows, jacobians)] = np.nan
    return values, jacobians


def _examined(plan: SubjectPlan, scope: CheckScope, rows: Floats, values: Floats) -> ExaminedFunction:
    """Return the function whose entries are compared with the reference, with the effort that is affordable."""
    functions, effort = scope.functions, scope.effort
    derivatives = {leg: functions.jacobian(leg) for leg in scope.legs}
    noise = noise_of(functions, rows, values, plan.seed)
    share = max(tol.CONSTANTS, plan.tolerance)
    limits = {} if plan.limit is None else {Leg.REVERSE: plan.limit}
    return ExaminedFunction(
        functions.evaluate,
        functions.columns,
        derivatives,
        noise,
        plan.seed,
        effort.pairs,
        effort.deep,
        share,
        limits,
        effort.is_long,
    )
