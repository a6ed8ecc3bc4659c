"""Check one file: build both precisions of its subjects, run the method on each, and finish the results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.check.build.kept_files import KeptFiles
from slangad.compiler.check.build.libraries import BuildSetting, Built, build_both
from slangad.compiler.check.kept_functions import KeptFunctions
from slangad.compiler.check.planning.plans import kernels_without_reverse, make_plan
from slangad.compiler.check.planning.selection import wanted
from slangad.compiler.check.planning.tasks import device_job, make_task
from slangad.compiler.check.run.libraries import LibraryFiles
from slangad.compiler.check.verdict.explain.accumulated import with_accumulated
from slangad.compiler.check.verdict.explain.locations import with_locations
from slangad.compiler.check.verdict.explain.slang_callees import with_slang_callees
from slangad.compiler.check.verdict.explain.traps import with_traps
from slangad.compiler.check.verdict.final_results import FinalResults
from slangad.compiler.check.verdict.refusals import refused, without_refused_instances
from slangad.compiler.driver.model import Options
from slangad.compiler.emit import emit_module
from slangad.compiler.report.words import titled
from slangad.compiler.slang_text.search import folders_of
from slangad.compiler.toolchain.locate import slangpy_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slangad.compiler.check.model.observer import CheckObserver
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.check.workers.pool import Workers
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.slang_compilers import SlangCompilers
    from slangad.compiler.report.model import Result


def compile_options(options: CheckOptions) -> Options:
    """Return the options with which a check compiles."""
    return Options(
        targets=("cpp",),
        include_dirs=(*options.include_dirs, *slangpy_modules()),
        defines=options.defines,
        specialize=options.specialize,
        slangc=options.slangc,
        slang_flags=options.slang_flags,
        workers=options.workers,
        time_limit=options.time_limit,
        cache=options.cache,
    )


class FileCheck:
    """Check one file after the other.

    Args:
        options: The settings of the command.
        compilers: For the descriptions of files and for float64, and for float32.
        workers: The workers. Others may use them at the same time.
        progress: Receives the labels of the subjects that run.
    """

    def __init__(
        self,
        options: CheckOptions,
        compilers: tuple[SlangCompilers, SlangCompilers],
        workers: Workers,
        progress: Callable[[Sequence[str]], None],
    ) -> None:
        self._options = options
        self._workers = workers
        self._progress = progress
        self.compilers = compilers

    def results(
        self, item: Input, description: FileDescription, notes: Sequence[str], observer: CheckObserver
    ) -> list[Result]:
        """Return the results of one file, in its order. The observer receives the plan and the results."""
        subjects = wanted(item, description, self._options)
        runnable = [s for s in subjects if not s.skipped and s.failure is None]
        if not subjects:
            return []
        self._progress([subject.label for subject in subjects])
        setting, every = self._setting(item, description.texts), description.reduced_to(runnable)
        emitted = emit_module(every.twins.module, flat_tables=False)
        if setting.keep is not None:
            emitted = replace(emitted, file_name=str(setting.keep.write(emitted.file_name, emitted.text)))
        kept = KeptFunctions(item.path, every, emitted, setting, self._options)
        known = kept.get(runnable)
        fresh = [subject for subject in runnable if subject.label not in known]
        with self._workers.expecting(len(fresh)):
            reduced = description.reduced_to(fresh)
            built = self._built(reduced, setting) if fresh else (Built((), ()), Built((), ()))
            subjects = without_refused_instances(subjects, *built)
            observer.planned([titled(subject.label, subject.kind) for subject in subjects], notes)
            rows = FinalResults(subjects, description.module, observer.decided)
            libraries = self._libraries(reduced, setting, built)

            def result_of(subject: Subject) -> Result:
                if subject.label in known:
                    return known[subject.label]
                plan = make_plan(subject, item.path, (every.twins, emitted), built[0], self._options)
                result = self._result(plan, reduced, built, libraries)
                kept.put(subject, result, built)
                return result

            self._workers.for_all(subjects, self._watched(result_of), rows.add)
        self._progress([])
        return with_locations(rows.finish(), subjects, description.module)

    def _built(self, description: FileDescription, setting: BuildSetting) -> tuple[Built, Built]:
        twins = (description.text_twins, description.unclipped)
        forward = kernels_without_reverse(description.subjects, description.twins, self._options)
        return build_both(description.twins.module, setting, self.compilers, *twins, forward=forward)

    def _setting(self, item: Input, texts: Mapping[str, str]) -> BuildSetting:
        options, include = self._options, folders_of(item.path, self.compilers[0].options.include_dirs)
        keep = KeptFiles(options.keep).of_file(item.path) if options.keep is not None else None
        return BuildSetting(
            include, options.defines, options.time_limit, options.cache, texts, options.slang_flags, keep
        )

    def _libraries(
        self, description: FileDescription, setting: BuildSetting, built: tuple[Built, Built]
    ) -> LibraryFiles:
        """Return the libraries of the workers' tasks."""
        f64, f32 = built
        loose = description.unclipped.names if description.unclipped else ()
        device = self._options.device
        job = None if device == "cpu" else device_job(description.twins.module, setting, device, loose)
        return LibraryFiles(f64.libraries, f32.libraries, job)

    def _watched(self, check: Callable[[Subject], Result]) -> Callable[[Subject], Result]:
        """Return a function that also reports to the observer the running tasks."""
        running: dict[str, None] = {}

        def one(subject: Subject) -> Result:
            running[subject.label] = None
            self._progress(list(running))
            try:
                return check(subject)
            finally:
                del running[subject.label]

        return one

    def _result(
        self, plan: SubjectPlan, description: FileDescription, built: tuple[Built, Built], libraries: LibraryFiles
    ) -> Result:
        """Return the result of one subject."""
        f64, f32 = built
        module, subject = description.twins.module, plan.subject
        early = refused(plan, f64, f32, module)
        if early is not None:
            return early
        result = self._workers.check(make_task(plan, description, built), libraries)
        result = with_accumulated(result, subject.memory)
        if subject.facts is None:
            return with_slang_callees(result, subject, module)
        return with_traps(result, module.sources)
