"""Check input files and return a report.

``group_check`` has the steps of one group of files, ``file_check`` those of one file.
"""

from __future__ import annotations

import math
import shlex
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from slangad import __version__
from slangad.compiler.check.file_check import FileCheck, compile_options
from slangad.compiler.check.file_threads import FileThreads
from slangad.compiler.check.group_check import GroupCheck, describe_input, describe_inputs, notes_on
from slangad.compiler.check.kept_results import KeptResults
from slangad.compiler.check.model.observer import CheckObserver
from slangad.compiler.check.planning.files import groups_of, with_main_files
from slangad.compiler.check.planning.selection import asks_for_names, paths_of, refuse_unknown_names, wanted
from slangad.compiler.check.planning.shards import split_files
from slangad.compiler.check.subjects.requested_shapes import refuse_shapes
from slangad.compiler.check.versions import used
from slangad.compiler.check.workers.pool import Workers
from slangad.compiler.driver.compile import refuse_specializations
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.report.model import FileCost, Report, Result
from slangad.compiler.slang_text.endings import is_slang

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.check.file_threads import Say
    from slangad.compiler.check.kept_results import FileResults
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.check.planning.files import Described
    from slangad.compiler.driver.inputs import Input


def check(inputs: Sequence[Input], options: CheckOptions, observer: CheckObserver | None = None) -> Report:
    """Check all inputs, except those whose results are kept from an earlier check.

    Raises:
        CompileError: A generic function that was asked for is nowhere.
        ToolchainError: There is no Slang or no C++ compiler.
        NoSuchNameError: A name that was asked for is nowhere.
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
        notes=tuple(notes_on(inputs, options)),
        command=options.full_command or command,
        fail_on=options.fail_on,
        min_checked=options.min_checked,
        shard="" if options.shard is None else "{}/{}".format(*options.shard),
        split=session.split,
        files=session.files,
        costs=tuple(FileCost(str(path), one.seconds) for path, one in files.items()),
    )


def paths_in(inputs: Sequence[Input], options: CheckOptions) -> frozenset[str] | None:
    """Return ``function.parameter`` for everything that can be checked; None if a file can't be read."""
    files = with_main_files(inputs, options.include_dirs)
    with SlangCompilers(compile_options(options)) as compilers:
        described = [describe_input(item, options, compilers) for item in files]
    read = [one for one in described if not isinstance(one, Result)]
    return frozenset(path for one in read for path in paths_of(one)) if len(read) == len(described) else None


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
        self.files: tuple[str, ...] = ()
        self._finished = 0
        self._files = 0
        self._compiling = compile_options(options)
        self._compilers = [SlangCompilers(self._compiling)]
        self._describing = SlangCompilers(self._compiling)  # while threads use the others
        self._workers = Workers(options.workers, options.run_limit)
        self._labels: dict[int, Sequence[str]] = {}

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()
        for compilers in (*self._compilers, self._describing):
            compilers.__exit__(None, None, None)

    def check_all(self, inputs: Sequence[Input]) -> dict[Path, FileResults]:
        """Return the results of all inputs by path."""
        options, self._files = self._options, len(inputs)
        asks = asks_for_names(inputs, options)
        names = tuple(str(item.path) for item in inputs) if asks else ()
        kept = KeptResults(options, self._compiling.include_dirs, names)
        groups = groups_of(inputs, options.include_dirs)
        known: dict[Path, FileResults] = {}
        for group in () if options.mutate else dict.fromkeys(groups.values()):
            known |= kept.get(group)
        described: dict[Path, Described] = {}
        if asks and (not inputs or any(item.path not in known for item in inputs)):
            known, described = {}, describe_inputs(inputs, options, self._compilers[0])
            read = [(item, one) for item, one in described.values() if not isinstance(one, Result)]
            if len(read) == len(described):  # a name may be in a file that can't be read
                _refuse_unknown(read, options)
        if options.shard is not None:
            number, count = options.shard
            split = split_files(dict.fromkeys(groups.values()), count, options.include_dirs, dict(options.costs))
            self.split, self.files = split.digest, tuple(str(item.path) for item in inputs)
            inputs = [item for item in inputs if item.path in split.shards[number - 1]]
            self._files = len(inputs)
        group_check = GroupCheck(kept, self._observer)
        wanted_groups = dict.fromkeys(groups[item.path] for item in inputs if item.path not in known)
        begun = self._begun(wanted_groups, described, group_check)
        with FileThreads(self._opened(len(wanted_groups)), begun) as threads:
            for item in inputs:
                self._progress()
                if item.path in known:
                    self._observer.reads(known[item.path].sources or ())
                    group_check.announce(item, known[item.path].results, self._observer)
                else:
                    threads.follow(item.path)
                self._finished += 1
        results = known | group_check.results
        return {item.path: results[item.path] for item in inputs}

    def _opened(self, groups: int) -> list[FileCheck]:
        """Return one for each thread that some groups can use. A group keeps about two processors busy."""
        count = max(1, min(groups, (self._options.workers + 1) // 2))
        each = self._options.workers if count == 1 else max(2, math.isqrt(self._options.workers))
        compiling = replace(self._compiling, workers=each)
        self._compilers += [SlangCompilers(compiling) for _ in range(2 * count - 1)]
        pairs = zip(self._compilers[::2], self._compilers[1::2], strict=True)
        return [
            FileCheck(self._options, (f64, f32), self._workers, partial(self._runs, number))
            for number, (f64, f32) in enumerate(pairs)
        ]

    def _begun(
        self, groups: Iterable[tuple[Input, ...]], described: Mapping[Path, Described], group_check: GroupCheck
    ) -> Iterator[tuple[list[Path], Callable[[FileCheck, Say], None]]]:
        """Yield the files of each group, and what is to be done. Users' Python runs here, in the main thread."""
        for group in groups:
            begun, files = time.perf_counter(), [item.path for item in group]
            of_group: Mapping[Path, Described] | None = None
            if not described.keys().isdisjoint(files):
                of_group = described
            elif not all(is_slang(file) for file in files):
                of_group = describe_inputs(group, self._options, self._describing)
            yield files, partial(group_check.check, group, of_group, time.perf_counter() - begun)

    def _runs(self, number: int, labels: Sequence[str]) -> None:
        """Take the labels of the subjects that run in a thread."""
        self._labels[number] = labels
        self._progress()

    def _progress(self) -> None:
        labels = [label for those in tuple(self._labels.values()) for label in those]
        self._observer.progress(self._finished, self._files, labels)
