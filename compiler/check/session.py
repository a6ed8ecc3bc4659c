"""Check input files and return a report. The stages of a file are one call each, in ``file_check``."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad import __version__
from slangad.compiler.check.file_check import FileCheck
from slangad.compiler.check.kept_results import FileResults, KeptResults
from slangad.compiler.check.model.observer import CheckObserver
from slangad.compiler.check.planning.description import describe_file
from slangad.compiler.check.planning.files import Described, describe_all, groups_of, with_main_files
from slangad.compiler.check.planning.selection import asks_for_names, paths_of, refuse_unknown_names, wanted
from slangad.compiler.check.planning.shards import split_files
from slangad.compiler.check.planning.unseen import rows_of_unread, with_every_function
from slangad.compiler.check.subjects.requested_shapes import refuse_shapes
from slangad.compiler.check.verdict.not_run import file_result
from slangad.compiler.check.versions import used
from slangad.compiler.driver.compile import refuse_specializations
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.report.model import FileCost, Report, Result
from slangad.compiler.report.words import name_of, titled
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.driver.inputs import Input

_UNREADABLE: Final = frozenset({"SA240", "SA241"})
"""Codes of failures of the toolchain that only concern the file that it reads."""


def check(inputs: Sequence[Input], options: CheckOptions, observer: CheckObserver | None = None) -> Report:
    """Check all inputs, except those whose results are kept from an earlier check.

    Raises:
        CompileError: A generic function that was asked for is nowhere.
        ToolchainError: There is no Slang or no C++ compiler.
        UnknownNameError: A name that was asked for is nowhere.
        RequestedShapeError: No subject can have a shape that was asked for.
    """
    start = time.perf_counter()
    with _Session(options, observer or CheckObserver()) as session:
        files = session.check_all(with_main_files(inputs, options.include_dirs))
    command = " ".join([options.command, *(shlex.quote(str(item.path)) for item in inputs)])
    return Report(
        __version__,
        options.seed,
        options.device,
        options.samples,
        tuple(result for one in files.values() for result in one.results),
        used(options),
        strict=options.strict,
        seconds=time.perf_counter() - start,
        notes=tuple(_notes(inputs, options)),
        command=options.full_command or command,
        fail_on=options.fail_on,
        min_checked=options.min_checked,
        shard="" if options.shard is None else "{}/{}".format(*options.shard),
        split=session.split,
        costs=tuple(FileCost(str(path), one.seconds) for path, one in files.items()),
    )


def paths_in(inputs: Sequence[Input], options: CheckOptions) -> frozenset[str] | None:
    """Return ``function.parameter`` for everything that can be checked; None if a file can't be read."""
    with _Session(options, CheckObserver()) as session:
        described = [session.describe(item) for item in with_main_files(inputs, options.include_dirs)]
    read = [one for one in described if not isinstance(one, Result)]
    return frozenset(path for one in read for path in paths_of(one)) if len(read) == len(described) else None


def _notes(inputs: Sequence[Input], options: CheckOptions) -> Iterator[tuple[str, str]]:
    """Yield the folders that are searched for imports although no option names them, each with the file."""
    for item in inputs:
        if is_slang(item.path):
            yield from ((str(item.path), one.note) for one in search(item.path, options.include_dirs).folders)


def _refuse_unknown(described: Sequence[tuple[Input, FileDescription]], options: CheckOptions) -> None:
    """Refuse specializations, names and shapes that no input can have."""
    refuse_specializations((one.module for _, one in described), options.required_specializations)
    refuse_unknown_names(described, options)
    if options.required_shapes:
        subjects = [(subject, one.module) for item, one in described for subject in wanted(item, one, options)]
        refuse_shapes(options.required_shapes, subjects)


class _Session:
    """The files of one check: which are answered from kept results, which shard has them, and what the others give."""

    def __init__(self, options: CheckOptions, observer: CheckObserver) -> None:
        self._options = options
        self._observer = observer
        self.split = ""
        self._finished = 0
        self._files = 0
        self._file_check = FileCheck(options, observer, self._progress)
        self._include_dirs = self._file_check.include_dirs

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._file_check.close()

    def check_all(self, inputs: Sequence[Input]) -> dict[Path, FileResults]:
        """Return the results of all inputs by path."""
        options, self._files = self._options, len(inputs)
        asks = asks_for_names(inputs, options)
        names = tuple(str(item.path) for item in inputs) if asks else ()
        kept = KeptResults(options, self._include_dirs, names)
        groups = groups_of(inputs, options.include_dirs)
        known: dict[Path, FileResults] = {}
        for group in () if options.mutate else dict.fromkeys(groups.values()):
            known |= kept.get(group)
        described: dict[Path, Described] = {}
        if asks and (not inputs or any(item.path not in known for item in inputs)):
            known, described = {}, self._described(inputs)
            read = [(item, one) for item, one in described.values() if not isinstance(one, Result)]
            if len(read) == len(described):  # a name may be in a file that can't be read
                _refuse_unknown(read, options)
        fresh: dict[Path, FileResults] = {}
        if options.shard is not None:
            number, count = options.shard
            split = split_files(dict.fromkeys(groups.values()), count, options.include_dirs, dict(options.costs))
            self.split = split.digest
            inputs = [item for item in inputs if item.path in split.shards[number - 1]]
            self._files = len(inputs)
        for self._finished, item in enumerate(inputs):
            self._progress(())
            if item.path in known:
                self._observer.reads(known[item.path].sources or ())
                self._announce(item, known[item.path].results)
                continue
            group, begun = groups[item.path], time.perf_counter()
            if not described.keys() & {one.path for one in group}:
                described |= self._described(group)
            one = self._checked(item, described.get(item.path))
            kept_seconds = sum(result.seconds for result in one.results if result.cached)
            fresh[item.path] = one._replace(seconds=time.perf_counter() - begun + kept_seconds)
            self._observer.reads((*search(item.path, self._include_dirs).files, *(fresh[item.path].sources or ())))
            if not options.mutate and all(one.path in fresh for one in group):
                kept.put(group, fresh)
        return {item.path: (known | fresh)[item.path] for item in inputs}

    def _checked(self, original: Input, described: Described | None) -> FileResults:
        """Return the results of a file; none if all its functions are checked through another file."""
        if described is None:
            return FileResults((), ())
        item, description = described
        # An import that fails is no source of the module.
        brought = search(item.path, self._include_dirs).files if is_slang(item.path) else ()
        if isinstance(description, Result):
            rows = (description, *rows_of_unread(item, description, self._options.only, self._options.include_dirs))
            self._announce(item, rows)
            return FileResults(rows, brought if is_slang(item.path) else None)
        results = tuple(self._file_check.results(item, description, self._notes_of(item)))
        sources = tuple(dict.fromkeys((*description.module.sources, *brought)))
        return FileResults(results, sources if item.path == original.path else None)

    def _described(self, inputs: Sequence[Input]) -> dict[Path, Described]:
        """Return the descriptions of inputs, with a row for every requested function."""
        described = describe_all(inputs, self.describe, self._options.include_dirs)
        return described if self._options.mutate else with_every_function(described, self._options.include_dirs)

    def _announce(self, item: Input, results: Sequence[Result]) -> None:
        """Send the observer results that are known at once."""
        names = [titled(name_of(result), result.kind) for result in results]
        self._observer.planned(names, self._notes_of(item))
        for result in results:
            self._observer.decided(result)

    def _progress(self, labels: Sequence[str]) -> None:
        self._observer.progress(self._finished, self._files, labels)

    def _notes_of(self, item: Input) -> list[str]:
        return [text for _, text in _notes([item], self._options)]

    def describe(self, item: Input, *, repair: bool = True) -> FileDescription | Result:
        """Return the description of a file, or the result of a file that can't be read.

        Without ``repair``, a file with a part that does not compile is a result.
        """
        try:
            options = self._options if repair else replace(self._options, repair=False)
            return describe_file(item, options, self._file_check.compilers[0])
        except (CompileError, ToolchainError) as error:
            if isinstance(error, ToolchainError) and error.diagnostics[0].code not in _UNREADABLE:
                raise
            return file_result(item.path, error)
