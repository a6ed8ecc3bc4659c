"""Compare entries at kinks of several inputs: find entries that together are no subgradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.kinks.group_slopes import InputGroup, pairs_of, slopes_of_group
from slangad.compiler.check.model.arrays import weighted
from slangad.compiler.check.model.findings import Corner, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.function import ExaminedFunction
    from slangad.compiler.report.model import Leg


def compare_corners(
    function: ExaminedFunction, samples: Samples, jacobians: Mapping[Leg, Floats], findings: Findings
) -> None:
    """Mark entries at kinks of two inputs, and at ties of three, that no slopes along all of them allow."""
    most = min(tol.CORNERS, function.most_deep // 2)
    ties = _ties(samples.rows[:, function.inputs], findings)[:most]
    for places in (*_pairs(findings)[:most], *ties):
        columns = tuple(function.inputs[list(places.columns)].tolist())
        row, scales = samples.rows[places.sample], samples.scales[places.sample]
        group = InputGroup(places.sample, columns, places.signs)
        bounds = slopes_of_group(function.evaluate, function.inputs, group, row, scales)
        for mode, jacobian in jacobians.items():
            _mark(findings, mode, jacobian[places.sample], places, bounds)


def _pairs(findings: Findings) -> list[InputGroup]:
    """Return pairs of positions among the inputs, at samples where one result has a kink along both."""
    kinks = np.any([states == State.KINK for states in findings.states.values()], axis=0)
    several = np.any(kinks.sum(axis=2) >= 2, axis=1)
    return [
        pair
        for sample in np.flatnonzero(several)
        for pair in pairs_of(int(sample), (int(k) for k in np.flatnonzero(kinks[sample].any(axis=0))))
    ]


def _ties(rows: Floats, findings: Findings) -> list[InputGroup]:
    """Return the positions of equal inputs: the largest group of each sample."""
    ties: list[InputGroup] = []
    for sample in np.flatnonzero(findings.finite):
        values, counts = np.unique(rows[sample], return_counts=True)
        if counts.max(initial=0) >= tol.CORNER_EQUAL:
            same = np.flatnonzero(rows[sample] == values[counts.argmax()])
            ties.append(InputGroup(int(sample), tuple(same.tolist()), (1,) * len(same)))
    return ties


def _mark(findings: Findings, mode: Leg, jacobian: Floats, group: InputGroup, bounds: tuple[Floats, Floats]) -> None:
    """Mark the results for which the entries of a group are no subgradient."""
    places = list(group.columns)
    entries, states = jacobian[:, places], findings.states[mode][group.sample][:, places]
    together = weighted(entries, np.array(group.signs, np.float64))
    low, high = bounds
    with np.errstate(all="ignore"):
        sizes = np.maximum(np.abs(entries).sum(axis=1), np.maximum(np.abs(low), np.abs(high)))
        slack = tol.CORNER_SLACK * sizes
        outside = (together < low - slack) | (together > high + slack)
    settled = (states == State.KINK) | ((states == State.OK) & (len(places) >= tol.CORNER_EQUAL))
    for number in np.flatnonzero(outside & settled.all(axis=1)):
        result = int(number)
        numbers = float(together[result]), float(low[result]), float(high[result])
        negated = (-numbers[0], -numbers[2], -numbers[1])
        findings.states[mode][group.sample, result, places] = State.KINK_BAD
        for place, sign in zip(places, group.signs, strict=True):
            others = tuple(k for k in places if k != place)
            shown = numbers if sign > 0 else negated
            findings.corners[mode, group.sample, result, place] = Corner(others, group.signs[-1], *shown)
