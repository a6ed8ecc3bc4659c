"""The toolchain's front door: jobs in, results out, from the cache where it has them, else from worker processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.toolchain.arguments import slangc_arguments
from slangad.compiler.toolchain.collect import Collector
from slangad.compiler.toolchain.events import Work
from slangad.compiler.toolchain.library import SlangSession
from slangad.compiler.toolchain.locate import find_library
from slangad.compiler.toolchain.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.toolchain.request import CompileJob, CompileResult


def compile_here(jobs: Sequence[CompileJob]) -> list[CompileResult]:
    """Compile in this process: fastest for a single job, but a crash of Slang takes the process with it."""
    session = SlangSession(str(find_library()))
    results = []
    with Staging() as staging:
        for index, job in enumerate(jobs):
            staged = staging.write(index, job)
            collector = Collector(job, staged)
            arguments = slangc_arguments(job, staged, job.entry_points, job.targets)
            entries = (-1,) if job.whole else range(len(job.entry_points))
            units = tuple((target, entry) for target in range(len(job.targets)) for entry in entries)
            for event in session.compile(Work(arguments, job.targets, job.entry_points, units)):
                collector.add(event)
            results.append(collector.result())
    return results
