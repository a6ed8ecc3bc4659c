"""Kinks of several inputs at once: findings go in, and entries that fit no subgradient together are marked in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.kinks.slopes import Together, pairs_of, slopes_along
from slangad.compiler.check.model.findings import Corner, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.entries import Examiner
    from slangad.compiler.report.model import Leg


def look_at_corners(examiner: Examiner, samples: Samples, found: Mapping[Leg, Floats], findings: Findings) -> None:
    """Hold the entries at kinks of two inputs, and at ties of three, against slopes along all of them at once."""
    most = min(tol.CORNERS, examiner.most_deep // 2)
    ties = _ties(samples.rows[:, examiner.inputs], findings)[:most]
    for several in (*_pairs(findings)[:most], *ties):
        columns = Together(several.sample, tuple(examiner.inputs[list(several.columns)].tolist()), several.signs)
        row, scales = samples.rows[several.sample], samples.scales[several.sample]
        bounds = slopes_along(examiner.evaluate, examiner.inputs, columns, row, scales)
        for leg, jacobian in found.items():
            _mark(findings, leg, jacobian[several.sample], several, bounds)


def _pairs(findings: Findings) -> list[Together]:
    """Pairs of entries, not of columns, at samples where one result has a kink in both."""
    kinks = np.any([states == State.KINK for states in findings.states.values()], axis=0)
    several = np.any(kinks.sum(axis=2) >= 2, axis=1)
    return [
        pair
        for sample in np.flatnonzero(several)
        for pair in pairs_of(int(sample), (int(k) for k in np.flatnonzero(kinks[sample].any(axis=0))))
    ]


def _ties(rows: Floats, findings: Findings) -> list[Together]:
    """Entries of inputs that are equal, of each sample the most."""
    ties: list[Together] = []
    for sample in np.flatnonzero(findings.finite):
        values, counts = np.unique(rows[sample], return_counts=True)
        if counts.max(initial=0) >= tol.CORNER_EQUAL:
            same = np.flatnonzero(rows[sample] == values[counts.argmax()])
            ties.append(Together(int(sample), tuple(same.tolist()), (1,) * len(same)))
    return ties


def _mark(findings: Findings, leg: Leg, jacobian: Floats, several: Together, bounds: tuple[Floats, Floats]) -> None:
    """Mark the results for which some entries fit no subgradient."""
    columns = list(several.columns)
    entries, states = jacobian[:, columns], findings.states[leg][several.sample][:, columns]
    together = entries @ np.array(several.signs, np.float64)
    low, high = bounds
    with np.errstate(all="ignore"):
        slack = tol.CORNER_SLACK * np.maximum(np.abs(entries).sum(axis=1), np.maximum(np.abs(low), np.abs(high)))
        outside = (together < low - slack) | (together > high + slack)
    fine = (states == State.KINK) | ((states == State.OK) & (len(columns) >= tol.CORNER_EQUAL))
    for number in np.flatnonzero(outside & fine.all(axis=1)):
        result = int(number)
        told = float(together[result]), float(low[result]), float(high[result])
        turned = (-told[0], -told[2], -told[1])
        findings.states[leg][several.sample, result, columns] = State.KINK_BAD
        for own, sign in zip(columns, several.signs, strict=True):
            others = tuple(k for k in columns if k != own)
            numbers = told if sign > 0 else turned
            findings.corners[leg, several.sample, result, own] = Corner(others, several.signs[-1], *numbers)
