"""Divide jobs into calls of the compiler: enough to keep all workers busy, few enough to parse seldom."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from slangad.compiler.toolchain.jobs.arguments import macros_of, slangc_arguments
from slangad.compiler.toolchain.workers.events import CompilerCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from slangad.compiler.toolchain.jobs.request import CompileJob

MIN_UNITS = 4
"""A piece smaller than this costs more in parsing again than it saves."""

Unit = tuple[str, str]
"""Target and entry point, as in ``CompileJob.units``."""


@dataclass(frozen=True, slots=True)
class CompileTask:
    """Some units of a job, to be produced by one call."""

    job: CompileJob
    staged: Path
    units: tuple[Unit, ...]

    def work(self) -> CompilerCall:
        """Return the call: arguments for just the targets and entry points that the units need."""
        targets = tuple(dict.fromkeys(target for target, _ in self.units))
        wanted = {entry for _, entry in self.units}
        entries = tuple(entry for entry in self.job.entry_points if self.job.whole or entry in wanted)
        units = tuple((targets.index(t), -1 if self.job.whole else entries.index(e)) for t, e in self.units)
        arguments = slangc_arguments(self.job, self.staged, entries, targets)
        return CompilerCall(arguments, targets, entries, units, self.job.declarations)

    def only(self, units: Iterable[Unit]) -> CompileTask:
        """Return the task for some of its units."""
        return CompileTask(self.job, self.staged, tuple(units))

    def split(self) -> list[CompileTask]:
        """Return one task for each unit."""
        return [self.only([unit]) for unit in self.units]


def worker_count(jobs: Sequence[CompileJob], limit: int) -> int:
    """Return the number of workers that these jobs can keep busy, at most ``limit``."""
    units = sum(len(job.units()) for job in jobs)
    return max(1, min(limit, -(-units // MIN_UNITS)))


def cut(jobs: Sequence[tuple[CompileJob, Path]], workers: int, *, singly: bool) -> list[CompileTask]:
    """Cut jobs into tasks.

    Args:
        jobs: Each with the place of its text.
        workers: The number of tasks that run at a time.
        singly: One task for each unit, as an external slangc needs.
    """
    total = sum(len(job.units()) for job, _ in jobs)
    rounds = 1 if len(jobs) == 1 else 2
    size = 1 if singly else max(MIN_UNITS, -(-total // (workers * rounds)))
    return [
        CompileTask(job, staged, part) for job, staged in jobs for units in _alike(job) for part in _parts(units, size)
    ]


def _alike(job: CompileJob) -> list[tuple[Unit, ...]]:
    """Return the units of a job, those together whose targets have the same macros."""
    macros = {target: macros_of(job, target) for target in job.targets}
    groups: dict[tuple[str, ...], list[Unit]] = {}
    for unit in job.units():
        groups.setdefault(macros[unit[0]], []).append(unit)
    return [tuple(group) for group in groups.values()]


def _parts(units: tuple[Unit, ...], size: int) -> Iterator[tuple[Unit, ...]]:
    """Return parts of nearly equal size, none larger than ``size``."""
    count = -(-len(units) // size)
    rest = iter(units)
    for index in range(count):
        yield tuple(islice(rest, len(units) * (index + 1) // count - len(units) * index // count))
