"""Define what a caller may hear of a running check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from slangad.compiler.report.model import Result


def _ignore(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class CheckObserver:
    """Functions that a check calls, by default in the thread that started it.

    Attributes:
        progress: Called with the number of finished files, the number of all files, and the functions that run; by
            any thread.
        planned: Called for each file before its results, with the names of its functions and the notes on the file.
        decided: Called with each result as soon as it is final, in the order of the report.
        reads: Called for each file with all files that its results depend on.
    """

    progress: Callable[[int, int, Sequence[str]], None] = _ignore
    planned: Callable[[Sequence[str], Sequence[str]], None] = _ignore
    decided: Callable[[Result], None] = _ignore
    reads: Callable[[Iterable[str]], None] = _ignore
