"""Kinks of several inputs at once: findings go in, and entries that fit no subgradient together are marked in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.examine import State
from slangad.compiler.check.kinks import Corner, Pair, pairs_of, slopes_along

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from slangad.compiler.check.examine import Examiner, Findings
    from slangad.compiler.check.samples import Samples
    from slangad.compiler.report.model import Leg

    Floats = npt.NDArray[np.float64]

_MOST: Final = 40
_SLACK: Final = 1e-3


def look_at_corners(examiner: Examiner, samples: Samples, found: Mapping[Leg, Floats], findings: Findings) -> None:
    """Hold the entries at kinks of two inputs against slopes along both at once."""
    inputs = examiner.inputs
    for pair in _pairs(findings)[: min(_MOST, examiner.most_deep // 2)]:
        columns = Pair(pair.sample, int(inputs[pair.one]), int(inputs[pair.other]), pair.sign)
        row, scales = samples.rows[pair.sample], samples.scales[pair.sample]
        bounds = slopes_along(examiner.evaluate, inputs, columns, row, scales)
        for leg, jacobian in found.items():
            _mark(findings, leg, jacobian[pair.sample], pair, bounds)


def _pairs(findings: Findings) -> list[Pair]:
    """Pairs of entries, not of columns, at samples where one result has a kink in both."""
    kinks = np.any([states == State.KINK for states in findings.states.values()], axis=0)
    several = np.any(kinks.sum(axis=2) >= 2, axis=1)
    return [
        pair
        for sample in np.flatnonzero(several)
        for pair in pairs_of(int(sample), (int(k) for k in np.flatnonzero(kinks[sample].any(axis=0))))
    ]


def _mark(findings: Findings, leg: Leg, jacobian: Floats, pair: Pair, bounds: tuple[Floats, Floats]) -> None:
    """Mark the results for which a pair of entries fits no subgradient."""
    both = [pair.one, pair.other]
    entries, states = jacobian[:, both], findings.states[leg][pair.sample][:, both]
    together = entries[:, 0] + pair.sign * entries[:, 1]
    low, high = bounds
    with np.errstate(all="ignore"):
        slack = _SLACK * np.maximum(np.abs(entries).sum(axis=1), np.maximum(np.abs(low), np.abs(high)))
        outside = (together < low - slack) | (together > high + slack)
    for number in np.flatnonzero(outside & (states == State.KINK).all(axis=1)):
        result = int(number)
        told = float(together[result]), float(low[result]), float(high[result])
        turned = told if pair.sign > 0 else (-told[0], -told[2], -told[1])
        findings.states[leg][pair.sample, result, both] = State.KINK_BAD
        findings.corners[leg, pair.sample, result, pair.one] = Corner(pair.other, pair.sign, *told)
        findings.corners[leg, pair.sample, result, pair.other] = Corner(pair.one, pair.sign, *turned)
