"""Check input files and return a report. The stages of a file are one call each, in ``_Session.check_file``."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad import __version__
from slangad.compiler.check.build.kept_files import KeptFiles
from slangad.compiler.check.build.libraries import BuildSetting, Built, build_both
from slangad.compiler.check.kept_functions import KeptFunctions
from slangad.compiler.check.kept_results import FileResults, KeptResults
from slangad.compiler.check.model.observer import CheckObserver
from slangad.compiler.check.planning.description import describe_file
from slangad.compiler.check.planning.files import Described, describe_all, groups_of, with_main_files
from slangad.compiler.check.planning.plans import make_plan
from slangad.compiler.check.planning.selection import asks_for_names, paths_of, refuse_unknown_names, wanted
from slangad.compiler.check.planning.shards import split_files
from slangad.compiler.check.planning.tasks import device_job, make_task
from slangad.compiler.check.planning.unseen import rows_of_unread, with_every_function
from slangad.compiler.check.run.libraries import LibraryFiles
from slangad.compiler.check.subjects.requested_shapes import refuse_shapes
from slangad.compiler.check.verdict.explain.accumulated import with_accumulated
from slangad.compiler.check.verdict.explain.locations import with_locations
from slangad.compiler.check.verdict.explain.traps import with_traps
from slangad.compiler.check.verdict.final_results import FinalResults
from slangad.compiler.check.verdict.not_run import file_result
from slangad.compiler.check.verdict.refusals import refused, without_refused_instances
from slangad.compiler.check.versions import used
from slangad.compiler.check.workers.pool import Workers
from slangad.compiler.driver.compile import refuse_specializations
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.emit import emit_module
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.report.model import FileCost, Report, Result
from slangad.compiler.report.words import name_of, titled
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import folders_of, search
from slangad.compiler.toolchain.locate import slangpy_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.subject import Subject
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
    """Compilers and workers that last for all files."""

    def __init__(self, options: CheckOptions, observer: CheckObserver) -> None:
        self._options = options
        self._observer = observer
        self.split = ""
        self._finished = 0
        self._files = 0
        self._include_dirs = (*options.include_dirs, *slangpy_modules())
        compile_options = Options(
            targets=("cpp",),
            include_dirs=self._include_dirs,
            defines=options.defines,
            specialize=options.specialize,
            slangc=options.slangc,
            slang_flags=options.slang_flags,
            workers=options.workers,
            time_limit=options.time_limit,
            cache=options.cache,
        )
        self._compilers = SlangCompilers(compile_options), SlangCompilers(compile_options)
        self._workers = Workers(options.workers, options.run_limit)

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()
        for compilers in self._compilers:
            compilers.__exit__(None, None, None)

    def check_all(self, inputs: Sequence[Input]) -> dict[Path, FileResults]:
        """Return the results of all inputs by path."""
        options, self._files = self._options, len(inputs)
        asks = asks_for_names(inputs, options)
        kept = KeptResults(options, self._include_dirs, tuple(str(item.path) for item in inputs) if asks else ())
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
            self._observer.progress(self._finished, self._files, ())
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
        results = tuple(self.check_file(item, description))
        sources = tuple(dict.fromkeys((*description.module.sources, *brought)))
        return FileResults(results, sources if item.path == original.path else None)

    def _described(self, inputs: Sequence[Input]) -> dict[Path, Described]:
        """Return the descriptions of inputs, with a row for every requested function."""
        described = describe_all(inputs, self.describe, self._options.include_dirs)
        return described if self._options.mutate else with_every_function(described, self._options.include_dirs)

    def _announce(self, item: Input, results: Sequence[Result]) -> None:
        """Tell the observer of results that are known at once."""
        self._plan(item, [titled(name_of(result), result.kind) for result in results])
        for result in results:
            self._observer.decided(result)

    def _plan(self, item: Input, names: Sequence[str]) -> None:
        self._observer.planned(names, [text for _, text in _notes([item], self._options)])

    def describe(self, item: Input, *, repair: bool = True) -> FileDescription | Result:
        """Return the description of a file, or the result of a file that can't be read.

        Without ``repair``, a file with a part that does not compile is a result.
        """
        try:
            options = self._options if repair else replace(self._options, repair=False)
            return describe_file(item, options, self._compilers[0])
        except (CompileError, ToolchainError) as error:
            if isinstance(error, ToolchainError) and error.diagnostics[0].code not in _UNREADABLE:
                raise
            return file_result(item.path, error)

    def check_file(self, item: Input, description: FileDescription) -> list[Result]:
        """Return the results of one file, in its order."""
        subjects = wanted(item, description, self._options)
        runnable = [s for s in subjects if not s.skipped and s.failure is None]
        if not subjects:
            return []
        self._observer.progress(self._finished, self._files, [subject.label for subject in subjects])
        setting, every = self._setting(item, description.texts), description.reduced_to(runnable)
        emitted = emit_module(every.twins.module)
        if setting.keep is not None:
            emitted = replace(emitted, file_name=str(setting.keep.write(emitted.file_name, emitted.text)))
        kept = KeptFunctions(item.path, every, emitted, setting, self._options)
        known = kept.get(runnable)
        fresh = [subject for subject in runnable if subject.label not in known]
        self._workers.start(len(fresh))
        reduced = description.reduced_to(fresh)
        built = self._built(reduced, setting) if fresh else (Built((), ()), Built((), ()))
        subjects = without_refused_instances(subjects, *built)
        self._plan(item, [titled(subject.label, subject.kind) for subject in subjects])
        rows = FinalResults(subjects, description.module, self._observer.decided)

        def result_of(subject: Subject) -> Result:
            if subject.label in known:
                return known[subject.label]
            plan = make_plan(subject, item.path, (every.twins, emitted), built[0], self._options)
            result = self._result(plan, reduced, built)
            kept.put(subject, result, built)
            return result

        self._load(reduced, setting, built)
        self._workers.for_all(subjects, self._watched(result_of), rows.add)
        return with_locations(rows.finish(), subjects, description.module)

    def _built(self, description: FileDescription, setting: BuildSetting) -> tuple[Built, Built]:
        twins = (description.text_twins, description.unclipped)
        return build_both(description.twins.module, setting, self._compilers, *twins)

    def _setting(self, item: Input, texts: Mapping[str, str]) -> BuildSetting:
        options, include = self._options, folders_of(item.path, self._include_dirs)
        keep = KeptFiles(options.keep).of_file(item.path) if options.keep is not None else None
        return BuildSetting(
            include, options.defines, options.time_limit, options.cache, texts, options.slang_flags, keep
        )

    def _load(self, description: FileDescription, setting: BuildSetting, built: tuple[Built, Built]) -> None:
        """Set the libraries of the workers' next tasks."""
        f64, f32 = built
        loose = description.unclipped.names if description.unclipped else ()
        device = self._options.device
        job = None if device == "cpu" else device_job(description.twins.module, setting, device, loose)
        self._workers.load(LibraryFiles(f64.libraries, f32.libraries, job))

    def _watched(self, check: Callable[[Subject], Result]) -> Callable[[Subject], Result]:
        """Return a function that also reports to the observer the running tasks."""
        running: dict[str, None] = {}

        def one(subject: Subject) -> Result:
            running[subject.label] = None
            self._observer.progress(self._finished, self._files, list(running))
            try:
                return check(subject)
            finally:
                del running[subject.label]

        return one

    def _result(self, plan: SubjectPlan, description: FileDescription, built: tuple[Built, Built]) -> Result:
        """Return the result of one subject."""
        f64, f32 = built
        module, subject = description.twins.module, plan.subject
        early = refused(plan, f64, f32, module)
        if early is not None:
            return early
        result = self._workers.check(make_task(plan, description, built))
        result = with_accumulated(result, subject.memory)
        return result if subject.facts is None else with_traps(result, module.sources)
