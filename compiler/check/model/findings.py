"""Define the findings of comparisons: the state of every entry, and the worst disagreement of every leg."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.outcomes import CheckOutcome

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.outcomes import Disagreement
    from slangad.compiler.report.model import Float32, Leg, LegResult

    States = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Corner:
    """Entries that together belong to no subgradient.

    Attributes:
        others: The other inputs.
        sign: 1 if their sum is wrong, -1 if their difference is.
        found: The sum or difference.
        low: The least that is right; ``high`` the largest.
    """

    others: tuple[int, ...]
    sign: int
    found: float
    low: float
    high: float


class State(IntEnum):
    """The outcome of one entry of one sample's Jacobian; the worst of several is the largest."""

    UNSEEN = 0
    OK = 1
    KINK = 2
    JUMP = 3
    UNDECIDED = 4
    UNGUARDED = 5
    KINK_BAD = 6
    WRONG = 7


@dataclass(slots=True)
class Findings:
    """All entries of all samples, shape (samples, results, inputs).

    Attributes:
        expected: The reference slope with half its error bar in ``error``.
        low: The least right slope at kinks, NaN elsewhere; ``high`` is the largest.
        states: By leg.
        finite: Samples at which the function is finite.
        jumps: Samples at which it jumps.
        grain: The least error that rounding of the values makes in a slope.
        looked: Samples and inputs that were looked at; not all if a function has many inputs.
        curves: Half widths and slopes of wrong entries.
        left: Pairs of sample and input that disagree and were not looked at closely; of the leg with most of them.
        corners: Entries that are wrong only together with another, by leg, sample, result and input.
        share: The relative tolerance.
        cut: The steps that did not end in time.
        padding: Fields that are excused since they only fill space, with the memory that has them.
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
    share: float = tol.CONSTANTS
    padding: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def guarded(self) -> Bools:
        """Return True for finite samples without derivatives that are not finite at a degenerate input."""
        unguarded = [(leg_states == State.UNGUARDED).any(axis=(1, 2)) for leg_states in self.states.values()]
        return np.asarray(self.finite & ~np.any(unguarded, axis=0))


def part_of(findings: Findings, some: npt.NDArray[np.int64]) -> Findings:
    """Return the findings at some of the samples."""
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
        share=findings.share,
    )


@dataclass(frozen=True, slots=True)
class Wrong:
    """One wrong number; ``row`` and ``column`` are -1 if it is no entry of the Jacobian."""

    sample: int
    row: int
    column: int
    found: float
    expected: float
    tolerance: float
    cotangent: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """The outcome of a leg.

    Attributes:
        outcome: The outcome if they disagree.
        message: A disagreement in one line.
        wrong: The worst number.
        float32: The Jacobians in float32.
        failure: A disagreement that is not about a sample.
        single: The coverage of float32.
        is_cut: True if the leg did not end in time.
        is_noted: True if the detail of the result is a note for the reader.
    """

    result: LegResult
    outcome: CheckOutcome = CheckOutcome.WRONG
    message: str = ""
    wrong: Wrong | None = None
    float32: Floats | None = None
    failure: Disagreement | None = None
    single: Float32 | None = None
    is_noted: bool = False
    is_cut: bool = False
