"""Check one group of files: describe them, check each, keep the results, and inform the observer.

A group has the files that may be checked through each other (see ``planning.files.groups_of``).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.kept_results import FileResults
from slangad.compiler.check.model.observer import CheckObserver
from slangad.compiler.check.planning.description import describe_file
from slangad.compiler.check.planning.files import describe_all
from slangad.compiler.check.planning.unseen import rows_of_unread, with_every_function
from slangad.compiler.check.verdict.not_run import file_result
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.report.model import Result
from slangad.compiler.report.words import name_of, titled
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.check.file_check import FileCheck
    from slangad.compiler.check.file_threads import Say
    from slangad.compiler.check.kept_results import KeptResults
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.check.planning.files import Described
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.slang_compilers import SlangCompilers

_UNREADABLE: Final = frozenset({"SA240", "SA241"})
"""Codes of failures of the toolchain that only concern the file that it reads."""


def describe_input(
    item: Input, options: CheckOptions, compilers: SlangCompilers, *, repair: bool = True
) -> FileDescription | Result:
    """Return the description of a file, or the result of a file that can't be read.

    Without ``repair``, a file with a part that does not compile is a result.
    """
    try:
        return describe_file(item, options if repair else replace(options, repair=False), compilers)
    except (CompileError, ToolchainError) as error:
        if isinstance(error, ToolchainError) and error.diagnostics[0].code not in _UNREADABLE:
            raise
        return file_result(item.path, error)


def describe_inputs(inputs: Sequence[Input], options: CheckOptions, compilers: SlangCompilers) -> dict[Path, Described]:
    """Return the descriptions of inputs by path, with a row for every requested function."""
    describe = partial(describe_input, options=options, compilers=compilers)
    described = describe_all(inputs, describe, options.include_dirs)
    return described if options.mutate else with_every_function(described, options.include_dirs)


def notes_on(inputs: Iterable[Input], options: CheckOptions) -> Iterator[tuple[str, str]]:
    """Yield the folders that are searched for imports although no option names them, each with the file."""
    for item in inputs:
        if is_slang(item.path):
            yield from ((str(item.path), one.note) for one in search(item.path, options.include_dirs).folders)


class GroupCheck:
    """Check groups of files, several groups at the same time.

    Args:
        kept: Keeps the results. Its options and folders are those of the check.
        observer: Receives the plan, the results and the sources of each file, in the main thread.

    Attributes:
        results: The results of all files that were checked, by path.
    """

    def __init__(self, kept: KeptResults, observer: CheckObserver) -> None:
        self._kept = kept
        self._options = kept.options
        self._observer = observer
        self.results: dict[Path, FileResults] = {}

    def check(
        self,
        group: tuple[Input, ...],
        described: Mapping[Path, Described] | None,
        seconds: float,
        file_check: FileCheck,
        say: Say,
    ) -> None:
        """Check the files of one group; without descriptions, describe them first.

        ``seconds`` is the time that their descriptions took.
        """
        begun = time.perf_counter() - seconds
        if described is None:
            described = describe_inputs(group, self._options, file_check.compilers[0])
        for item in group:
            one = self._checked(item, described.get(item.path), file_check, say)
            kept_seconds = sum(result.seconds for result in one.results if result.cached)
            self.results[item.path] = one._replace(seconds=time.perf_counter() - begun + kept_seconds)
            sources = (*search(item.path, self._kept.include_dirs).files, *(one.sources or ()))
            say(item.path, partial(self._observer.reads, sources))
            begun = time.perf_counter()
        if not self._options.mutate:
            self._kept.put(group, self.results)
        for item in group:
            say(item.path, None)

    def announce(self, item: Input, results: Sequence[Result], observer: CheckObserver) -> None:
        """Send an observer results that are known at once."""
        names = [titled(name_of(result), result.kind) for result in results]
        observer.planned(names, self._notes_on(item))
        for result in results:
            observer.decided(result)

    def _checked(self, original: Input, described: Described | None, file_check: FileCheck, say: Say) -> FileResults:
        """Return the results of a file; none if all its functions are checked through another file."""
        if described is None:
            return FileResults((), ())
        item, description = described
        observer = CheckObserver(
            planned=lambda *plan: say(original.path, partial(self._observer.planned, *plan)),
            decided=lambda result: say(original.path, partial(self._observer.decided, result)),
        )
        # An import that fails is no source of the module.
        brought = search(item.path, self._kept.include_dirs).files if is_slang(item.path) else ()
        if isinstance(description, Result):
            rows = (description, *rows_of_unread(item, description, self._options.only, self._options.include_dirs))
            self.announce(item, rows, observer)
            return FileResults(rows, brought if is_slang(item.path) else None)
        results = tuple(file_check.results(item, description, self._notes_on(item), observer))
        sources = tuple(dict.fromkeys((*description.module.sources, *brought)))
        return FileResults(results, sources if item.path == original.path else None)

    def _notes_on(self, item: Input) -> list[str]:
        return [text for _, text in notes_on([item], self._options)]
