"""Name and explain the verdicts and legs of a check: one table for all formats that people read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from slangad.compiler.report.model import Kind, Report, Result


@dataclass(frozen=True, slots=True)
class Words:
    """A verdict in words.

    Attributes:
        title: A name without underscores.
        short: The meaning, in one sentence.
        advice: The next step for the user; empty if there is none.
    """

    title: str
    short: str
    advice: str = ""


VERDICTS: Final[dict[Verdict, Words]] = {
    Verdict.FAIL: Words(
        "Wrong derivative",
        "A derivative, value or bound is not what it should be.",
        "Compare found with expected at the input that is shown. The likely cause says where to look first.",
    ),
    Verdict.KINK_BAD: Words(
        "Wrong derivative at a kink",
        "At a kink the derivative lies outside the one-sided derivatives, so it is no subgradient.",
        "Return a value between the one-sided derivatives, or declare the one you mean with a subgradient policy.",
    ),
    Verdict.PRECISION: Words(
        "Inaccurate derivative",
        "The derivative is right in float64, but inaccurate in float32 on this device.",
        "Write the expression so that less cancels, or narrow the range of its inputs.",
    ),
    Verdict.NONDETERMINISTIC: Words(
        "Different from run to run",
        "Two runs with the same inputs gave different results.",
        "Look for threads that write where others read or write.",
    ),
    Verdict.UNGUARDED: Words(
        "Not finite at a degenerate input",
        "Right, but not finite at a zero, tie or end of an input without a declared range, where the value is finite.",
        "Declare a range without that input, or guard the division or root there.",
    ),
    Verdict.EXPECTED_FAIL: Words(
        "Fails as expected",
        "It fails, and a line `check: expect fail` says so.",
        "Remove the line when the function is repaired; the check fails then.",
    ),
    Verdict.INCONCLUSIVE: Words(
        "Could not be decided",
        "No sample could tell right from wrong.",
        "Declare ranges in which the function is finite and smooth, or take more samples.",
    ),
    Verdict.SKIPPED: Words(
        "Not checked",
        "It was not checked; the reason says why.",
        "Give what is missing, such as the arguments of a generic function.",
    ),
    Verdict.KINK_OK: Words("Right, with kinks", "Right everywhere, at kinks a subgradient."),
    Verdict.PASS: Words("Right", "Everything that was compared agrees."),
}
"""Most severe first."""

SEVERITY: Final[tuple[Verdict, ...]] = tuple(VERDICTS)

LEGS: Final[dict[Leg, str]] = {
    Leg.REVERSE: "reverse mode in float64 against differences",
    Leg.FORWARD: "forward mode in float64 against differences",
    Leg.TRANSPOSE: "forward mode against reverse mode",
    Leg.PRIMAL: "the value that forward mode computes against the function alone",
    Leg.FLOAT32: "float32 on the device against float64",
    Leg.BOUND: "loops against their declared bounds",
    Leg.INTENT: "the derivative against the declared one",
    Leg.ACCUMULATION: "sums into gradient buffers",
    Leg.JOINED: "joined stages against the same stages in separate kernels",
    Leg.REPEAT: "two runs against each other",
    Leg.COMPILE: "code that compiles and runs",
}

MARKS: Final[dict[LegState, str]] = {
    LegState.AGREES: "✓",
    LegState.DISAGREES: "✗",
    LegState.UNDECIDED: "?",
    LegState.MISSING: "-",
}


def worst_first(report: Report) -> list[Result]:
    """Return the results, most severe first, else in their order."""
    return sorted(report.results, key=lambda result: SEVERITY.index(result.verdict))


def titled(name: str, kind: Kind) -> str:
    """Return a name with its kind, unless that is a function."""
    return name if kind == "function" else f"{name} ({kind})"


def name_of(result: Result) -> str:
    """Return the function of a result; ``(file)`` for a result about a file."""
    return result.function or "(file)"
