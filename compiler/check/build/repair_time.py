"""Limit the time for finding what a compiler refuses: to twice that of one compile of the file.

Only attempts that fail count, since the code of the others is used. The first attempt is no part of the search.
Attempts of Slang count with their processor time, since the machine may be busy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from collections.abc import Callable

GIVEN_UP: Final = "a compiler refuses something in this file, and the search for it ended after "
"""The prefix of the reason for subjects that the search did not test."""
ALONE: Final = "Check it alone with --only"
"""The remedy: there is less to search."""


@dataclass(slots=True)
class RepairTime:
    """The time that a search has taken.

    Attributes:
        clock: Returns the seconds since some time, or the processor time of all attempts.
        longest: Seconds of the longest attempt.
        used: Seconds of all attempts whose code is used.
        failed: Seconds of all other attempts after the first one.
    """

    clock: Callable[[], float] = time.perf_counter
    longest: float = 0.0
    used: float = 0.0
    failed: float = 0.0

    @property
    def one(self) -> float:
        """The approximate time of one compile of the file, in seconds."""
        return max(self.longest, self.used)

    @property
    def is_over(self) -> bool:
        """True if the search must end."""
        return self.failed > max(tol.REPAIR_LEAST, tol.REPAIR_FACTOR * self.one)

    @property
    def reason(self) -> str:
        """The reason why something was not tried."""
        return f"{GIVEN_UP}{self.failed:.0f} s; one compile of it takes {self.one:.0f} s"

    def add(self, start: float, failing: float = 1.0) -> None:
        """Add an attempt that began at ``start`` and ends now; ``failing`` is the part of it that failed."""
        self.add_seconds(self.clock() - start, failing)

    def add_seconds(self, seconds: float, failing: float = 1.0) -> None:
        """Add an attempt that took some seconds."""
        self.failed += seconds * failing if self.longest else 0.0
        self.used += seconds * (1.0 - failing)
        self.longest = max(self.longest, seconds)
