"""A whole check: input files become a report. The stages of a file are one call each, in ``_Session.check_file``."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING, Final

from slangad import __version__
from slangad.compiler.check.build.libraries import BuildSetting, build_both
from slangad.compiler.check.planning.description import describe_file, without_twinless
from slangad.compiler.check.planning.plans import make_plan
from slangad.compiler.check.planning.selection import paths_of, refuse_unknown_names, wanted
from slangad.compiler.check.planning.tasks import device_job, make_task
from slangad.compiler.check.run.libraries import LibraryFiles
from slangad.compiler.check.subjects.requested_shapes import refuse_shapes
from slangad.compiler.check.verdict.decide import with_expectation
from slangad.compiler.check.verdict.explain.callers import with_causes_in_callees
from slangad.compiler.check.verdict.explain.traps import with_traps
from slangad.compiler.check.verdict.not_run import file_result
from slangad.compiler.check.verdict.refusals import refused, twins_lost
from slangad.compiler.check.versions import used
from slangad.compiler.check.workers.pool import Workers
from slangad.compiler.driver.compile import refuse_specializations
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.emit import emit_module
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.report.model import Report, Result
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import folders_of, search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from slangad.compiler.check.build.libraries import Built
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.driver.inputs import Input

_UNREADABLE: Final = frozenset({"SA240", "SA241"})
"""Codes of failures of the toolchain that only concern the file that it reads."""


def check(inputs: Sequence[Input], options: CheckOptions, progress: Callable[[int, int], None] | None = None) -> Report:
    """Check all inputs.

    Raises:
        CompileError: A generic function that was asked for is nowhere.
        ToolchainError: There is no Slang or no C++ compiler.
        UnknownNameError: A name that was asked for is nowhere.
        RequestedShapeError: No subject can have a shape that was asked for.
    """
    start = time.perf_counter()
    with _Session(options) as session:
        described = [(item, session.describe(item)) for item in inputs]
        read = [(item, one) for item, one in described if not isinstance(one, Result)]
        if len(read) == len(described):  # a name may be in a file that can't be read
            _refuse_unknown(read, options)
        results: list[Result] = []
        for number, (item, description) in enumerate(described):
            if progress is not None:
                progress(number, len(inputs))
            results += [description] if isinstance(description, Result) else session.check_file(item, description)
    command = " ".join([options.command, *(shlex.quote(str(item.path)) for item in inputs)])
    return Report(
        __version__,
        options.seed,
        options.device,
        options.samples,
        tuple(results),
        used(options),
        strict=options.strict,
        seconds=time.perf_counter() - start,
        notes=tuple(_notes(inputs, options)),
        command=options.full_command or command,
    )


def paths_in(inputs: Sequence[Input], options: CheckOptions) -> frozenset[str] | None:
    """Return ``function.parameter`` for everything that can be checked; None if a file can't be read."""
    with _Session(options) as session:
        described = [session.describe(item) for item in inputs]
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

    def __init__(self, options: CheckOptions) -> None:
        self._options = options
        compile_options = Options(
            targets=("cpp",),
            include_dirs=options.include_dirs,
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

    def describe(self, item: Input) -> FileDescription | Result:
        """Return the description of a file, or the result of a file that can't be read."""
        try:
            return describe_file(item, self._options, self._compilers[0])
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
        self._workers.start(len(runnable))
        reduced = description.reduced_to(runnable)
        setting, twins = self._setting(item, description.texts), (reduced.text_twins, reduced.unclipped)
        built = build_both(reduced.twins.module, setting, self._compilers, *twins)
        if self._options.repair and is_slang(item.path) and twins_lost(runnable, *built):
            setting = self._setting(item, {})
            again = without_twinless(item, description, self._options, self._compilers[0], setting)
            if again is not None:
                return self.check_file(item, again)
        results = self._check_all(item, reduced, subjects, built)
        found = with_causes_in_callees(results, subjects, description.module)
        return [with_expectation(*one) for one in zip(found, subjects, strict=True)]

    def _setting(self, item: Input, texts: Mapping[str, str]) -> BuildSetting:
        own, include = self._options, folders_of(item.path, self._options.include_dirs)
        return BuildSetting(include, own.defines, own.time_limit, own.cache, texts, own.slang_flags)

    def _check_all(
        self, item: Input, description: FileDescription, subjects: Sequence[Subject], built: tuple[Built, Built]
    ) -> list[Result]:
        """Return the results of subjects of one file."""
        f64, f32 = built
        module = description.twins.module
        emitted = emit_module(module)
        setting = self._setting(item, description.texts)
        loose = description.unclipped.names if description.unclipped else ()
        job = None if self._options.device == "cpu" else device_job(module, setting, self._options.device, loose)
        self._workers.load(LibraryFiles(f64.libraries, f32.libraries, job))

        def one(subject: Subject) -> Result:
            plan = make_plan(subject, item.path, (description.twins, emitted), f64, self._options)
            early = refused(plan, f64, f32, module)
            if early is not None:
                return early
            result = self._workers.check(make_task(plan, description, built))
            return result if subject.facts is None else with_traps(result, module.sources)

        return self._workers.for_all(subjects, one)
