"""Outcomes of comparisons: the state of every entry, and the worst disagreement of every leg."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from slangad.compiler.check.model.outcomes import Outcome

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.outcomes import Disagreement
    from slangad.compiler.report.model import Float32, Leg, LegResult

    States = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Corner:
    """Entries that are none of a subgradient together: what their sum or difference is and may be.

    Attributes:
        others: The other inputs.
        sign: 1 for the sum, -1 for the difference.
    """

    others: tuple[int, ...]
    sign: int
    found: float
    low: float
    high: float


class State(IntEnum):
    """What became of one entry of one sample's Jacobian; the worst of several is the largest."""

    UNSEEN = 0
    OK = 1
    KINK = 2
    JUMP = 3
    UNDECIDED = 4
    KINK_BAD = 5
    WRONG = 6


@dataclass(slots=True)
class Findings:
    """All entries of all samples, shape (samples, results, inputs).

    Attributes:
        expected: The oracle's slope with half its bar in ``error``.
        low: At kinks, the least slope that is right; ``high`` the largest. Elsewhere NaN.
        states: By leg.
        finite: Samples at which the function is finite.
        jumps: Samples at which it jumps.
        grain: What rounding of the values may make of a slope, at least.
        looked: Samples and inputs that were looked at; of a function of many inputs not all are.
        curves: For entries that are wrong: half widths, slopes.
        left: Pairs of sample and input that disagree, beyond those looked at closely; of the leg with most of them.
        corners: For entries that are wrong only together with another, by leg, sample, result and input.
    """

    expected: Floats
    error: Floats
    low: Floats
    high: Floats
    states: dict[Leg, States]
    finite: Bools
    curves: dict[tuple[int, int, int], tuple[Floats, Floats]] = field(default_factory=dict)
    jumps: Bools = field(default_factory=lambda: np.zeros(0, bool))
    looked: Bools = field(default_factory=lambda: np.zeros((0, 0), bool))
    grain: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    left: int = 0
    corners: dict[tuple[Leg, int, int, int], Corner] = field(default_factory=dict)


def part_of(findings: Findings, some: npt.NDArray[np.int64]) -> Findings:
    """The findings at some of the samples."""
    return Findings(
        findings.expected[some],
        findings.error[some],
        findings.low[some],
        findings.high[some],
        {leg: states[some] for leg, states in findings.states.items()},
        findings.finite[some],
        jumps=findings.jumps[some],
        looked=findings.looked[some],
        grain=findings.grain[some],
    )


@dataclass(frozen=True, slots=True)
class Wrong:
    """One number that is not what it should be; ``row`` and ``column`` are -1 where it is no entry of the Jacobian."""

    sample: int
    row: int
    column: int
    found: float
    expected: float
    tolerance: float
    cotangent: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a leg; ``wrong`` is the worst of what disagrees, ``float32`` the device's Jacobians.

    ``failure`` is what is wrong where it is not about a sample, ``single`` how far float32 was tested.
    """

    result: LegResult
    outcome: Outcome = Outcome.WRONG
    message: str = ""
    wrong: Wrong | None = None
    float32: Floats | None = None
    failure: Disagreement | None = None
    single: Float32 | None = None
