"""Compile jobs, from the cache if it has the results, else in worker processes. ``compile_jobs`` is the entry.

If the cache has everything, the Slang library is not loaded and no process starts.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.toolchain.jobs.arguments import module_arguments
from slangad.compiler.toolchain.jobs.cached_results import ResultCache
from slangad.compiler.toolchain.jobs.collect import Collector
from slangad.compiler.toolchain.jobs.pool import Pool
from slangad.compiler.toolchain.jobs.prebuilt import ModuleStore
from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult
from slangad.compiler.toolchain.jobs.staging import BINARY, Staging
from slangad.compiler.toolchain.jobs.tasks import CompileTask, cut, worker_count
from slangad.compiler.toolchain.locate import find_library, find_slangc
from slangad.compiler.toolchain.messages.failures import failed
from slangad.compiler.toolchain.messages.messages import COMMAND_LINE
from slangad.compiler.toolchain.tools import tool_of
from slangad.compiler.toolchain.workers.backends import LibraryBackend, SlangcBackend
from slangad.compiler.toolchain.workers.events import CompilerCall, Front
from slangad.compiler.toolchain.workers.library import SlangSession

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from slangad.compiler.toolchain.cache import Cache

    Progress = Callable[[int, int], None]
    _Call = Callable[[CompilerCall, float], bool]


def compile_jobs(
    jobs: Sequence[CompileJob],
    *,
    workers: int = 2,
    slangc: Path | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> list[CompileResult]:
    """Compile jobs once; see ``Toolchain`` for doing so again and again."""
    with Toolchain(workers=workers, slangc=slangc, cache=cache) as toolchain:
        return toolchain.compile(jobs, progress)


class Toolchain:
    """A Slang compiler with its workers, which stay warm from one ``compile`` to the next.

    Args:
        workers: The number of processes that may run at a time.
        slangc: An executable to use instead of the library.
        cache: The cache of results; None to keep none.

    Raises:
        ToolchainError: There is no Slang compiler.
    """

    def __init__(self, *, workers: int = 2, slangc: Path | None = None, cache: Cache | None = None) -> None:
        self._external = slangc is not None
        self._compiler = find_slangc(slangc) if slangc else find_library()
        self._workers = max(1, workers)
        self._results = ResultCache(cache, self._compiler) if cache else None
        self._modules = None if self._external else ModuleStore(self._compiler, cache)
        self._pool: Pool | None = None
        self._spent = 0.0

    def __enter__(self) -> Toolchain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        self._spent = self.seconds
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @property
    def seconds(self) -> float:
        """The processor time of all compiles so far."""
        return self._spent + (self._pool.seconds if self._pool else 0.0)

    def compile(self, jobs: Sequence[CompileJob], progress: Progress | None = None) -> list[CompileResult]:
        """Compile jobs; the results come in the same order.

        Args:
            jobs: The jobs to compile.
            progress: Called with the number of finished artefacts, and of all.

        Raises:
            ToolchainError: The compiler can't be run. The failure of one job is in its result.
        """
        known = {job: self._results.get(job) if self._results else None for job in jobs}
        missing = [job for job, result in known.items() if result is None]
        total = sum(len(job.units()) for job in known)
        through = _Count(total, progress or _ignore)
        through.add(total - sum(len(job.units()) for job in missing))
        known.update(zip(missing, self._compile(missing, through.add), strict=True))
        return [result for job in jobs if (result := known[job]) is not None]

    def _compile(self, jobs: list[CompileJob], progress: Callable[[int], None]) -> list[CompileResult]:
        possible = [_without_missing_tools(job) for job in jobs]
        if any(job.targets for job, _ in possible):
            complete = {reduced for reduced, problems in possible if not problems}
            results = self._run([job for job, _ in possible], complete, progress)
        else:
            results = [CompileResult()] * len(jobs)
        _refuse_flags(results)
        return [
            replace(result, diagnostics=(*result.diagnostics, *problems))
            for result, (_, problems) in zip(results, possible, strict=True)
        ]

    def _run(
        self, jobs: list[CompileJob], complete: Collection[CompileJob], progress: Callable[[int], None]
    ) -> list[CompileResult]:
        """Compile jobs in workers. Each result of a complete job is stored while the others are compiled."""
        pool = self._started_pool(worker_count(jobs, self._workers))
        results: dict[CompileJob, CompileResult] = {}
        left = {job: len(job.units()) for job in jobs}

        def ended(task: CompileTask) -> None:
            left[task.job] -= len(task.units)
            if not left[task.job]:
                results[task.job] = collectors[task.job].result()
                if self._results and task.job in complete:
                    self._results.put(task.job, results[task.job])
            progress(len(task.units))

        with Staging() as staging:
            try:
                build = partial(_build_module, pool.call, staging)
                binaries = self._modules.ready(jobs, build) if self._modules else {}
                staged = [(job, staging.write(job, binaries)) for job in jobs]
                collectors = {job: Collector(job, path) for job, path in staged}
                pool.run(cut(staged, self._workers, singly=self._external), collectors, ended)
            except BaseException:
                self.close()
                raise
            return [results.get(job) or collectors[job].result() for job in jobs]

    def _started_pool(self, count: int) -> Pool:
        if self._pool is None:
            backend = SlangcBackend if self._external else LibraryBackend
            self._pool = Pool(partial(backend, self._compiler), self._workers)
        self._pool.warm_up(count)
        return self._pool


def compile_here(jobs: Sequence[CompileJob], modules: ModuleStore | None = None) -> list[CompileResult]:
    """Compile in this process, without workers or cache: a crash of Slang takes the process with it.

    Args:
        jobs: The jobs to compile.
        modules: Where binary forms of library modules are kept; ``None`` to read the text of each.
    """
    try:
        session = _session_here(str(find_library()))
    except (OSError, AttributeError) as error:
        raise failed("SA244", f"the Slang library can't be used: {error}") from None
    results = []
    with Staging() as staging:
        binaries = modules.ready(jobs, partial(_build_module, partial(_accepts, session), staging)) if modules else {}
        for job in jobs:
            staged = staging.write(job, binaries)
            collector = Collector(job, staged)
            for event in session.compile(CompileTask(job, staged, job.units()).work()):
                collector.add(event)
            results.append(collector.result())
    return results


@cache
def _session_here(library: str) -> SlangSession:
    """Return this process's own session: each takes 0.2 s to create, and keeps its memory."""
    return SlangSession(library)


def _accepts(session: SlangSession, work: CompilerCall, _limit: float) -> bool:
    """Run one call of this process's session for its effect; return True if Slang accepted it."""
    return all(event.ok for event in session.compile(work) if isinstance(event, Front))


def _build_module(call: _Call, staging: Staging, name: str, text: str, job: CompileJob) -> bytes | None:
    """Return a module in Slang's binary form; ``None`` when it has errors, which its users will tell.

    An installed module has a path for a name, and is read from there.
    """
    is_installed = name in job.installed
    source = Path(name) if is_installed else staging.write_text(name, text)
    binary = (staging.folder() if is_installed else source.parent) / f"{source.stem}{BINARY}"
    arguments = module_arguments(os.fspath(source), os.fspath(binary), job.defines)
    done = call(CompilerCall(arguments, (), (), ()), job.time_limit)
    return binary.read_bytes() if done and binary.is_file() else None


class _Count:
    """Count the finished units for the progress display."""

    def __init__(self, total: int, tell: Progress) -> None:
        self._total = total
        self._through = 0
        self._tell = tell

    def add(self, number: int) -> None:
        self._through += number
        self._tell(self._through, self._total)


_ABOUT_ARGUMENTS = range(10000)
"""Codes of Slang's messages about arguments. Others at the command line are about the text of a macro of ``-D``."""


def _ignore(through: int, total: int) -> None:
    """Do nothing: the default observer."""


def _refuse_flags(results: Sequence[CompileResult]) -> None:
    """Refuse arguments that Slang does not know.

    Raises:
        ToolchainError: A message is about the command line.
    """
    options = (m for result in results for m in result.messages if m.is_error and m.file == COMMAND_LINE)
    message = next((m for m in options if m.code in _ABOUT_ARGUMENTS), None)
    if message is not None:
        raise failed("SA256", f"Slang does not take an argument: {message.text}", help="correct -X, or the key 'flags'")


def _without_missing_tools(job: CompileJob) -> tuple[CompileJob, tuple[Diagnostic, ...]]:
    """Return the job for those targets that can be made here, and a diagnostic for each of the others."""
    lacking = [name for name in job.targets if (tool := tool_of(TARGETS[name])) and tool.find() is None]
    if not lacking:
        return job, ()
    return replace(job, targets=tuple(t for t in job.targets if t not in lacking)), tuple(map(_missing_tool, lacking))


def _missing_tool(target: str) -> Diagnostic:
    tool = tool_of(TARGETS[target])
    name, remedy = (tool.name, tool.remedy) if tool else ("", "")
    return Diagnostic("SA242", f"the target {target} needs {name}, which was not found", help=remedy)
