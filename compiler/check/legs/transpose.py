"""Compare forward mode with reverse mode, and check that each is linear, by random cotangents and directions.

The Jacobian J comes from unit cotangents w and unit directions v. Reverse mode must give w'J for random w, forward mode
Jv for random v. Each is compared with the Jacobian of the other mode, if there is one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.comparison import Numbers, combine, compared_numbers
from slangad.compiler.check.legs.proportion import compare_proportion
from slangad.compiler.check.model.findings import State
from slangad.compiler.check.reference.differences import power_of_two
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.check.reference.overflow import overflows_if_large
from slangad.compiler.check.reference.rounding import scatter, spread_by_inputs, spread_by_weights
from slangad.compiler.check.run.derivative import ModeDerivative
from slangad.compiler.report.model import Leg, LegResult, LegState

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.findings import Compared, Findings

_NOT_LINEAR: Final = "reverse mode is not linear: w'J is not the Jacobian times w for random w"
"""The message for reverse mode of a function without forward mode."""
_MESSAGES: Final = {
    Leg.REVERSE: "forward and reverse mode disagree: w'Jv is not v'J'w for random w",
    Leg.FORWARD: "forward mode is not linear: Jv is not the Jacobian times v for random v",
}


def compare_transpose(context: LegContext) -> Compared:
    """Compare both modes by random cotangents and directions, and by small and large ones."""
    comparisons: list[Callable[[LegContext], Compared]] = []
    if Leg.REVERSE in context.jacobians:
        comparisons.append(compare_cotangents)
    if Leg.FORWARD in context.jacobians:
        comparisons.append(compare_directions)
    comparisons.append(compare_proportion)
    return reduce(combine, [_without_overflow(compare, context) for compare in comparisons])


def compare_cotangents(context: LegContext) -> Compared:
    """Compare gradients for random cotangents with the Jacobian: reverse mode is linear, and forgets no result."""
    compared = _compare_linearity(context, Leg.REVERSE)
    alone = compared.wrong is not None or Leg.FORWARD not in context.jacobians
    return compared if alone else _with_accused(compared, context)


def compare_directions(context: LegContext) -> Compared:
    """Compare tangents for random directions with the Jacobian: forward mode is linear."""
    return _compare_linearity(context, Leg.FORWARD)


def _without_overflow(compare: Callable[[LegContext], Compared], context: LegContext) -> Compared:
    """Return the outcome of a comparison without the samples at which large weights overflow, if those are few."""
    compared = compare(context)
    if compared.result.state is not LegState.DISAGREES:
        return compared
    findings = context.findings
    over = findings.finite & overflows_if_large(context.f64, context.rows, context.jacobians)
    if not over.any() or over.sum() > tol.OVERFLOW_SHARE * findings.finite.sum():
        return compared
    states = {
        leg: np.where(over[:, None, None], State.UNDECIDED, states_of_leg)
        for leg, states_of_leg in findings.states.items()
    }
    return compare(replace(context, findings=replace(findings, finite=findings.finite & ~over, states=states)))


def _compare_linearity(context: LegContext, mode: Leg) -> Compared:
    """Compare a mode's derivative for random weights with the Jacobian times these."""
    derivative, rows = ModeDerivative(context.f64, mode), context.rows
    reverse, inputs = derivative.is_reverse, context.f64.inputs.differentiable
    axis, stream = (1, 1) if reverse else (2, 4)
    rng = np.random.default_rng([context.seed, stream])
    sizes = np.where(np.arange(len(rows)) % 2, 1.0, tol.LEG_SIZE)
    weights = rng.normal(size=(len(rows), len(derivative.weighted.differentiable))) * sizes[:, None]
    over_entries, all_weights = np.expand_dims(weights, 3 - axis), derivative.all_columns(weights)
    other, jacobian = Leg.FORWARD if reverse else Leg.REVERSE, context.jacobians[mode]
    with np.errstate(all="ignore"):
        actual = derivative.along(rows, all_weights)
        jacobians = context.jacobians.get(other, jacobian), jacobian
        expected, slack = _weighted_sum(over_entries, jacobians, context.findings, axis)
        slack += tol.LEG_ROUNDING * spread_by_inputs(
            derivative.along, rows, actual, inputs, tol.ULP64, rng, weights=all_weights
        )
        certain = np.asarray(context.agreed.all(axis=axis))

        def cancelled(some: Indices) -> Floats:
            here, ones = rows[some], np.ones(weights[some].shape)
            left = spread_by_weights(derivative.along, here, all_weights[some], tol.ULP64, rng)
            entries = spread_by_weights(derivative, here, ones, tol.ULP64, rng)
            return np.asarray(left + (np.abs(over_entries[some]) * entries).sum(axis=axis))

        def scattered(some: Indices) -> Floats:
            return np.asarray((np.abs(over_entries[some]) * _scatter(context, rows[some])).sum(axis=axis))

        numbers, wrong = _allow_rounding(Numbers(actual, expected, slack), certain, cancelled, scattered)
    shown = weights if reverse else None
    message = _NOT_LINEAR if reverse and other not in context.jacobians else _MESSAGES[mode]
    return compared_numbers(Leg.TRANSPOSE, numbers, certain, wrong, message, shown, by_result=not reverse)


def _with_accused(compared: Compared, context: LegContext) -> Compared:
    """Return the outcome with the entries that some mode has wrong: the other mode may have the same there."""
    accused = np.any([states == State.WRONG for states in context.findings.states.values()], axis=0)
    reverse, forward = context.jacobians[Leg.REVERSE], context.jacobians[Leg.FORWARD]
    with np.errstate(all="ignore"):
        slack = tol.LEG_CONSTANTS * context.findings.share * np.fmax(np.abs(reverse), np.abs(forward)) + tol.UNDERFLOW
        apart = accused & Numbers(reverse, forward, slack).apart() & ~(np.isnan(reverse) & np.isnan(forward))
        far = np.where(apart, np.abs(reverse - forward) / slack, 0.0)
    count = compared.result.compared + int(accused.sum())
    if not apart.any():
        state = LegState.AGREES if count else compared.result.state
        return replace(compared, result=replace(compared.result, state=state, compared=count))
    worst = float(np.nan_to_num(far, nan=np.inf, posinf=np.inf).max())
    return replace(compared, result=LegResult(Leg.TRANSPOSE, LegState.DISAGREES, count, worst))


def _allow_rounding(
    numbers: Numbers, certain: Bools, *allowances: Callable[[Indices], Floats]
) -> tuple[Numbers, Bools]:
    """Return numbers with more slack where they are too far apart, and those that still are.

    An allowance for rounding of terms that cancel out is computed only if the ones before it do not suffice.
    """
    numbers = replace(numbers, slack=numbers.slack.copy())
    finite = np.isfinite(numbers.expected)
    wrong = certain & numbers.apart() & finite
    for allowance in allowances:
        some = np.flatnonzero(wrong.any(axis=1))
        if len(some):
            numbers.slack[some] += tol.LEG_ROUNDING * allowance(some)
            wrong = certain & numbers.apart() & finite
    return numbers, wrong


def _scatter(context: LegContext, rows: Floats) -> Floats:
    """Return the largest difference that rounding may cause between both modes, over the factor of an allowance."""
    inputs, results = context.f64.inputs.differentiable, context.f64.results.differentiable
    far = np.zeros((len(rows), len(results), len(inputs)))
    rows = rows[: max(1, tol.SCATTER_PAIRS // len(inputs))]
    for mode in context.jacobians:
        derivative = ModeDerivative(context.f64, mode)
        for place, column in enumerate(inputs):
            widths = power_of_two(np.fmax(np.abs(rows[:, column]), tol.ULP32)) * tol.SCATTER_WIDTH

            def entries(near: Floats, place: int = place, derivative: ModeDerivative = derivative) -> Floats:
                return derivative(near)[:, :, place]

            far[: len(rows), :, place] += scatter(entries, rows, np.full(len(rows), column), widths)
    return far / tol.LEG_ROUNDING


def _weighted_sum(
    weights: Floats, jacobians: tuple[Floats, Floats], findings: Findings, axis: int
) -> tuple[Floats, Floats]:
    """Return the first Jacobian times weights, and its uncertainty; the second Jacobian is equally good."""
    expected: Floats = (weights * jacobians[0]).sum(axis=axis)
    size = (np.abs(weights) * np.fmax(*map(np.abs, jacobians))).sum(axis=axis)
    slack: Floats = tol.LEG_CONSTANTS * findings.share * (size + tol.USUAL_SHARE * known_median(size))
    doubt = np.where(np.isfinite(findings.error), findings.error, 0.0) + findings.grain + tol.UNDERFLOW
    slack += tol.LEG_DOUBT * (np.abs(weights) * doubt).sum(axis=axis)
    return expected, slack
