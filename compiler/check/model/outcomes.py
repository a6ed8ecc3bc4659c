"""Define outcomes: the findings of the steps about a subject. Only ``verdict.decide`` turns them into a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from slangad.compiler.report.model import Leg


class CheckOutcome(Enum):
    """A finding about a subject, or the reason why there is none."""

    NOT_REPRODUCIBLE = auto()
    """Two launches with the same inputs give different numbers."""
    NOT_COMPILED = auto()
    NOT_RUN = auto()
    """It crashes, does not end, or the check itself fails."""
    WRONG = auto()
    """A number is not the expected one."""
    NO_SUBGRADIENT = auto()
    """An entry at a kink lies outside the one-sided slopes."""
    IMPRECISE = auto()
    """Only float32 is far from the expected number."""
    LOST_GRADIENT = auto()
    """The result depends on a parameter that has no gradient."""
    BAD_DIRECTIVE = auto()
    """A line of the user about the check is wrong."""
    FAILS_AS_EXPECTED = auto()
    """It fails, and the user expects that."""
    NOTHING_TO_CHECK = auto()
    NO_MODE = auto()
    """It has neither reverse nor forward mode."""
    NOT_MUTATED = auto()
    NO_IMPORT = auto()
    """It does not compile without a file that it imports or includes, and that file does not exist or compile."""
    NO_TWIN = auto()
    """A copy that the check needs does not compile."""
    SLOW_COMPILE = auto()
    """A compiler takes too long, perhaps only on this machine at this time."""
    TOO_MUCH_WORK = auto()
    """Its samples take too long or too much memory, and it can have no endless loop."""
    NO_HOST_CODE = auto()
    """Slang's C++ of it does not compile, and nothing says that this is the user's mistake."""
    EMPTY_DIFFERENTIAL = auto()
    """It takes a struct that is ``IDifferentiable`` and has nothing that carries a gradient."""
    NO_SHAPES = auto()
    """No shapes of its tensors fit its indices."""
    UNKNOWN_INTENT = auto()
    """Its gradient is unknown: it reads bits of floats, or a declared part can't be frozen."""
    NOT_FINITE = auto()
    FEW_BLOCKS = auto()
    """Too few blocks of its inputs could be compared."""
    OUT_OF_BOUNDS = auto()
    """An index is out of bounds, at most samples."""
    FEW_SAMPLES = auto()
    """An entry could be compared at too few samples."""
    NOT_ON_DEVICE = auto()
    UNGUARDED = auto()
    """A derivative is not finite at a zero, tie or end of inputs without a declared range, where the value is."""
    AT_KINKS = auto()
    """Right, also at kinks; jumps have nothing to compare with."""


class Reason(NamedTuple):
    """An outcome and the reason for it in words, for reports."""

    outcome: CheckOutcome
    words: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One thing that is wrong and is not about a sample; attributes as those of ``report.model.Failure``."""

    leg: Leg
    outcome: CheckOutcome
    message: str
    row: str = ""
    column: str = ""
    expected: float | None = None
    error: float | None = None
    found: float | None = None
    cause: str = ""
    notes: tuple[str, ...] = ()
