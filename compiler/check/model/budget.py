"""Limit the time of one subject's check, so that its findings are kept when its time runs out.

The parent process ends a worker at the limit. Before that, the worker's own budget ends the comparison: launches run in
parts of about half a second, and between two parts ``require`` raises ``OutOfTimeError``. Whoever has findings that are
worth keeping catches it.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator


class OutOfTimeError(Exception):
    """The time of a subject, or of a step of its check, is over."""


@dataclass(slots=True)
class TimeBudget:
    """The time of one subject.

    Time in which other processes keep this one from the processor does not count, up to ``RUN_PATIENCE`` times the
    limit, as for the parent.

    Attributes:
        limit: Seconds; infinite if there is no limit.
        rates: Seconds that a row took, by what ran.
    """

    limit: float = math.inf
    rates: dict[Hashable, float] = field(default_factory=dict)
    _share: float = 1.0
    _begun: tuple[float, float] = field(default_factory=lambda: (time.monotonic(), time.process_time()))

    @property
    def spent(self) -> float:
        """The seconds since the start, as far as they count."""
        passed = self.passed
        if not _HAS_PROCESSOR_TIME:
            return passed
        return max(passed / tol.RUN_PATIENCE, min(passed, time.process_time() - self._begun[1]))

    @property
    def passed(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._begun[0]

    def over(self, missing: str) -> str:
        """Return the sentence that the time is over, and what is missing for that."""
        return f"its samples take more than {self.limit:g} s: --run-limit gives them more; not finished: {missing}"

    @property
    def left(self) -> float:
        """The seconds until the current step has to end; negative if they are over."""
        return self._share * self.limit - self.spent

    def require(self) -> None:
        """Raise ``OutOfTimeError`` if the time of the current step is over."""
        if self.left < 0.0:
            raise OutOfTimeError

    @contextmanager
    def until(self, share: float) -> Iterator[None]:
        """Let the time be over at a share of the limit, unless that of the surrounding step is over earlier."""
        before = self._share
        self._share = min(before, share)
        try:
            yield
        finally:
            self._share = before

    def parts(self, count: int, most: int, what: Hashable, first: int = tol.TIMED_ROWS) -> Iterator[slice]:
        """Yield parts of a number of rows that each take about half a second; an even number of rows, except the last.

        Args:
            count: The number of rows.
            most: The maximum of rows in a part.
            what: What runs: the time that its rows took before is known by it.
            first: The number of rows in the first part if that time is unknown.
        """
        start = 0
        while start < count:
            self.require()
            rate = self.rates.get(what)
            step = first if rate is None else min(most, int(tol.TIMED_PART / rate)) if rate else most
            end = min(count, start + max(2, min(most, step) // 2 * 2))
            begun = time.perf_counter()
            yield slice(start, end)
            self.rates[what] = (time.perf_counter() - begun) / (end - start)
            start = end


_HAS_PROCESSOR_TIME: Final = Path("/proc/self/stat").exists()
"""True on systems on which the parent knows the processor time of a worker."""
_BUDGET: Final[ContextVar[TimeBudget | None]] = ContextVar("slangad check budget", default=None)


def budget() -> TimeBudget:
    """Return the budget of the subject that is checked; one without limit elsewhere."""
    known = _BUDGET.get()
    if known is None:
        known = TimeBudget()
        _BUDGET.set(known)
    return known


@contextmanager
def budget_of(limit: float) -> Iterator[TimeBudget]:
    """Set the budget of a subject."""
    made = TimeBudget(limit or math.inf)
    token = _BUDGET.set(made)
    try:
        yield made
    finally:
        _BUDGET.reset(token)
