"""A whole check: input files go in, the report comes out; one call per stage for each file."""

from __future__ import annotations

import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from slangad import __version__
from slangad.compiler.check.build.libraries import Built, Setting, build_both, prelude, twin_job
from slangad.compiler.check.build.separately import kernels_apart
from slangad.compiler.check.model.columns import input_table
from slangad.compiler.check.model.launch_columns import anywhere_table
from slangad.compiler.check.model.names import broken_of, is_launch, is_mutant
from slangad.compiler.check.model.subject import Subject
from slangad.compiler.check.mutation.mutate import add_mutants, left_alone
from slangad.compiler.check.pipeline_companions import ChainTask
from slangad.compiler.check.plans import make_plan
from slangad.compiler.check.repair.load import load_what_compiles, mend_twin, text_of
from slangad.compiler.check.repair.repaired import Mended
from slangad.compiler.check.run.device import DeviceJob
from slangad.compiler.check.sampling.samples import covers
from slangad.compiler.check.subjects.find import find_subjects, with_shapes
from slangad.compiler.check.subjects.requested_shapes import refuse_shapes
from slangad.compiler.check.twins.declared import Intents, add_oracles
from slangad.compiler.check.twins.index_ranges import add_reaches
from slangad.compiler.check.twins.loop_bounds import watch_loops
from slangad.compiler.check.twins.slang_loop_bounds import add_loop_twins
from slangad.compiler.check.twins.unclipped import without_clips
from slangad.compiler.check.verdict.explain.callers import with_blame
from slangad.compiler.check.verdict.explain.traps import with_traps
from slangad.compiler.check.verdict.refusals import refused, twins_lost
from slangad.compiler.check.versions import used
from slangad.compiler.check.worker import Broken, Crashed, Task, Worker
from slangad.compiler.driver.compile import refuse_specializations
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.driver.unsupported import not_on
from slangad.compiler.emit import emit_module
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends import load
from slangad.compiler.frontends.slang.model import SlangSetting
from slangad.compiler.ir.subset import only
from slangad.compiler.passes import run_passes
from slangad.compiler.report.model import Failure, Leg, Report, Result, Verdict
from slangad.compiler.runtime.device.devices import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.check.model.columns import Column
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.twins.slang_loop_bounds import LoopTwins
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.frontends.slang.model import Reflection
    from slangad.compiler.ir.nodes import Module

_NOTHING_THERE: Final = frozenset({"SA080", "SA081"})
"""Codes of files without differentiable functions: there is nothing wrong, and nothing to check."""
_INTERVAL: Final = 0.02
_DIVIDED: Final = frozenset({"SIGFPE", f"exit status {0xC0000094}", f"exit status {0xC0000094 - 2**32}"})
"""How processes die of divisions of integers, on Windows too."""


class UnknownNameError(ValueError):
    """A function, kernel or parameter that no input has."""

    def __init__(self, name: str, known: set[str]) -> None:
        near = get_close_matches(name, sorted(known), n=1)
        super().__init__(f"None of the inputs has {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))


def check(inputs: Sequence[Input], options: CheckOptions, progress: Callable[[int, int], None] | None = None) -> Report:
    """Check all inputs.

    Raises:
        CompileError: A generic function that was asked for is nowhere.
        ToolchainError: There is no Slang or no C++ compiler.
        UnknownNameError: A name that was asked for is nowhere.
        SaidShapeError: A shape that was asked for can't be had.
    """
    start = time.perf_counter()
    with _Session(options) as session:
        described = [(item, session.describe(item)) for item in inputs]
        read = [one for _, one in described if not isinstance(one, Result)]
        if len(read) == len(described):
            refuse_specializations((one.module for one in read), options.said_specializations)
        _know_names(described, options)
        if options.said_shapes and not any(isinstance(one, Result) for _, one in described):
            refuse_shapes(options.said_shapes, list(session.wanted(described)))
        results: list[Result] = []
        for number, (item, description) in enumerate(described):
            if progress is not None:
                progress(number, len(inputs))
            results += session.check_file(item, description)
    words = " ".join([options.words, *(shlex.quote(str(item.path)) for item in inputs)])
    return Report(
        __version__,
        options.seed,
        options.device,
        options.samples,
        tuple(results),
        used(options.device, options.adapter),
        strict=options.strict,
        seconds=time.perf_counter() - start,
        command=options.given or words,
    )


def paths_in(inputs: Sequence[Input], options: CheckOptions) -> frozenset[str] | None:
    """``function.parameter`` of all that can be checked; nothing is known if a file can't be read."""
    with _Session(options) as session:
        described = [session.describe(item) for item in inputs]
    found = [one for one in described if not isinstance(one, Result)]
    if len(found) < len(described):
        return None
    return frozenset(path for one in found for path in _paths(one.intents, one.subjects))


@dataclass(frozen=True, slots=True)
class _Described:
    """What there is to check in a file; ``texts`` stand for Slang files by name, ``turns`` count those of loops."""

    intents: Intents
    subjects: tuple[Subject, ...]
    texts: Mapping[str, str]
    module: Module
    turns: LoopTwins | None = None


def _know_names(described: Sequence[tuple[Input, _Described | Result]], options: CheckOptions) -> None:
    """Refuse names that nothing has; if a file can't be read, they may be in that one.

    Raises:
        UnknownNameError: Of ``only``, of an input or of ``said_ranges``.
    """
    if any(isinstance(one, Result) for _, one in described):
        return
    found = [(item, one.intents, one.subjects) for item, one in described if not isinstance(one, Result)]
    names = {name for _, _, subjects in found for name in _names(subjects)} | options.known
    uncompiled = _names(s for _, _, subjects in found for s in subjects if s.failure is not None)
    for name in options.only:
        if name not in names:
            raise UnknownNameError(name, names)
    for item, _, subjects in found:
        for name in item.kernels:
            if name not in _names(subjects):
                raise UnknownNameError(name, _names(subjects))
    columns = {path for _, intents, subjects in found for path in _paths(intents, subjects)} | options.known_paths
    for path in options.said_ranges:
        if not any(covers(path, column) for column in columns) and path.rpartition(".")[0] not in uncompiled:
            raise UnknownNameError(path, columns)


def _names(subjects: Iterable[Subject]) -> set[str]:
    """What subjects can be called: by their labels, overloads by their common name, a mutant by what is broken too."""
    return {name for one in subjects for name in (one.label, one.name, broken_of(one.name))}


def _paths(intents: Intents, subjects: Iterable[Subject]) -> Iterator[str]:
    """The inputs of subjects, with the names of these."""
    for subject in subjects:
        for column in _columns(subject, intents):
            yield from (f"{name}.{column.path}" for name in (broken_of(subject.name), subject.label))


def _columns(subject: Subject, intents: Intents) -> Iterator[Column]:
    """The inputs of a subject, one for all elements of an array."""
    if subject.pipeline is not None:
        yield from anywhere_table(subject.pipeline.outside).columns
    for kernel in intents.module.kernels:
        if kernel.name == subject.kernel:
            yield from (anywhere_table if is_launch(kernel) else input_table)(kernel).columns


class _Session:
    """Compilers and workers that last for all files."""

    def __init__(self, options: CheckOptions) -> None:
        self._options = options
        compile_options = Options(
            targets=("cpp",),
            include_dirs=options.include_dirs,
            defines=options.defines,
            specialize=options.specialize,
            workers=options.workers,
            time_limit=options.time_limit,
            cache=options.cache,
        )
        self._compilers = SlangCompilers(compile_options), SlangCompilers(compile_options)
        self._workers: list[Worker] = []

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()
        for compilers in self._compilers:
            compilers.__exit__(None, None, None)

    def describe(self, item: Input) -> _Described | Result:
        """What there is to check in a file, or the result that stands for it."""
        try:
            return self._describe(item)
        except (CompileError, ToolchainError) as error:
            if isinstance(error, ToolchainError) and error.diagnostics[0].code not in ("SA240", "SA241"):
                raise
            return _file_result(item.path, error)

    def check_file(self, item: Input, described: _Described | Result) -> list[Result]:
        """All results of one file, in its order."""
        if isinstance(described, Result):
            return [described]
        intents, subjects = described.intents, described.subjects
        wanted = [subject for subject in subjects if self._wants(item, subject)]
        if not wanted:
            return []
        run = [s for s in wanted if not s.skipped and s.failure is None]
        self._start_workers(len(run))
        needed = [kernel for s in run for kernel in (s.kernel, s.launch, *(s.pipeline.kernels if s.pipeline else ()))]
        names = {name for kernel in needed for name in (kernel, *intents.twins(kernel))}
        module = only(intents.module, (k for k in intents.module.kernels if k.name in names))
        intents = replace(intents, module=module)
        turns = described.turns and replace(described.turns, module=_only_watches(described.turns, needed))
        wide, narrow = build_both(module, self._setting(item, described.texts), self._compilers, turns)
        if self._options.mend and item.path.suffix == ".slang" and twins_lost(run, wide, narrow):
            again = self._without_twinless(item, described)
            if again is not None:
                return self.check_file(item, again)
        job = self._on_device(item, module, described.texts)
        results = self._judge_all(item, intents, wanted, (wide, narrow, job), turns)
        return with_blame(results, wanted, described.module)

    def _describe(self, item: Input) -> _Described:
        setting = SlangSetting(self._compilers[0].reflect, self._options.specialize)
        mended = (
            load_what_compiles(item.path, setting) if self._options.mend else Mended(None, load(item.path, setting))
        )
        loaded = with_shapes(mended.module, self._options.shapes)
        if self._options.mutate:
            loaded = add_mutants(loaded, self._options.probed)
        module, subjects = find_subjects(loaded)
        subjects = mended.with_broken(subjects)
        if self._options.mutate:
            alone = (Subject(name, "function", span, skipped=why) for name, span, why in left_alone(loaded))
            subjects = (*(subject for subject in subjects if is_mutant(subject.name)), *alone)
        module, loose = without_clips(module)
        subjects = tuple(replace(subject, unclipped=_is_loose(subject, loose)) for subject in subjects)
        intents = add_oracles(module)
        watched, watches = watch_loops(intents.module, module.kernels)
        reaches = add_reaches(watched, module.kernels)
        made = run_passes(reaches.module)
        intents = replace(intents, module=made, watches=watches, reaches=reaches.twins, asked=reaches.asked)
        texts = {} if mended.text is None else {item.path.name: mended.text}
        turns = None
        if item.path.suffix == ".slang" and not self._options.mutate:
            turns = add_loop_twins(module, mended.text or text_of(item.path))
            intents = replace(intents, watches={**watches, **(turns.watches if turns else {})})
        return _Described(intents, subjects, texts, module, turns)

    def wanted(self, described: Sequence[tuple[Input, _Described | Result]]) -> Iterator[tuple[Subject, Module]]:
        """What is to be checked, with the module it stands in."""
        for item, one in described:
            if not isinstance(one, Result):
                yield from ((s, one.module) for s in one.subjects if self._wants(item, s))

    def _without_twinless(self, item: Input, described: _Described) -> _Described | None:
        """What there is to check without what keeps a whole file from having a float64 twin; none if that is not it."""
        setting = self._setting(item, {})

        def reflect(file: Path, asked: tuple[str, ...], text: str | None = None) -> Reflection:
            job = twin_job(described.intents.module, replace(setting, texts={file.name: text or ""}))
            return self._compilers[0].reflect(file, asked, dict(job.modules)[file.name], job)

        text = described.texts.get(item.path.name) or text_of(item.path)
        mended = mend_twin(item.path, SlangSetting(reflect, self._options.specialize), text)
        if mended is None or mended.text is None:
            return None
        failures = {one.head: one.failure for one in mended.broken}
        subjects = tuple(replace(s, failure=s.failure or failures.get(s.span)) for s in described.subjects)
        changed = replace(described, subjects=subjects, texts={item.path.name: mended.text}, turns=None)
        return changed if subjects != described.subjects else None

    def _wants(self, item: Input, subject: Subject) -> bool:
        words = (*item.kernels, *self._options.only)
        return not words or not _names([subject]).isdisjoint(words)

    def _start_workers(self, count: int) -> None:
        while len(self._workers) < min(self._options.workers, count):
            self._workers.append(Worker(self._options.run_limit))
        for worker in self._workers:
            worker.start()

    def _setting(self, item: Input, texts: Mapping[str, str]) -> Setting:
        folder = str(item.path.absolute().parent)
        include = (folder, *self._options.include_dirs)
        return Setting(include, self._options.defines, self._options.time_limit, self._options.cache, texts)

    def _on_device(self, item: Input, module: Module, texts: Mapping[str, str]) -> DeviceJob | None:
        if self._options.device == "cpu":
            return None
        kernels = tuple(k for k in module.kernels if not k.name.startswith("oracle_"))
        emitted = emit_module(only(module, kernels))
        include = (str(item.path.absolute().parent), *self._options.include_dirs)
        text = prelude(module) + emitted.text
        source = Source(include, self._options.defines, self._options.cache)
        name = self._options.device
        refused = {k.name: found[0].message for k in kernels if (found := not_on(name, module, (k.name,)))}
        libraries = {**emitted.libraries, **texts}
        apart = kernels_apart(module, texts)
        return DeviceJob(name, replace(emitted, text=text, libraries=libraries), source, refused, apart)

    def _lent(self, idle: SimpleQueue[Worker], task: Task | ChainTask) -> Result:
        """A worker's judgement, once there is one that has nothing else to do."""
        worker = idle.get()
        try:
            return _judged(worker, task)
        finally:
            idle.put(worker)

    def _judge_all(
        self,
        item: Input,
        intents: Intents,
        subjects: Sequence[Subject],
        built: tuple[Built, Built, DeviceJob | None],
        turns: LoopTwins | None,
    ) -> list[Result]:
        wide, narrow, job = built
        module = intents.module
        emitted = emit_module(module)
        counting = [k for k in (turns.module.kernels if turns else ()) if _holding(wide, k.name) is not None]
        kernels = {kernel.name: kernel for kernel in (*module.kernels, *counting)}
        idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            worker.load(wide.libraries, narrow.libraries, job)
            idle.put(worker)

        def one(subject: Subject) -> Result:
            plan = make_plan(subject, item.path, (intents, emitted), wide, self._options)
            early = refused(plan, wide, narrow, module)
            if early is not None:
                return early
            if subject.pipeline is not None:
                twins = {name: intents.twins(name) for name in subject.pipeline.kernels}
                return self._lent(idle, ChainTask(plan, subject.pipeline, kernels, twins))
            kernel = kernels[subject.kernel]
            oracle, watch, reach = (kernels.get(name) for name in intents.twins(subject.kernel))
            asked = intents.asked.get(subject.kernel, frozenset())
            number = _holding(wide, subject.kernel)
            assert number is not None  # noqa: S101  (else it is refused)
            holding = _holding(narrow, subject.kernel)
            launch = kernels.get(subject.launch)
            result = self._lent(idle, Task(plan, kernel, number, holding, oracle, watch, reach, asked, launch))
            result = _unless_bits(result, subject)
            return result if subject.facts is None else with_traps(result, module.sources)

        with ThreadPoolExecutor(max(1, len(self._workers))) as pool:
            results = [pool.submit(one, subject) for subject in subjects]
            try:
                return [result.result() for result in results]
            except BaseException:  # an interrupt waits for no kernel
                pool.shutdown(wait=False, cancel_futures=True)
                while not all(result.done() for result in results):  # a thread may just be starting a process
                    for worker in self._workers:
                        worker.close()
                    time.sleep(_INTERVAL)
                raise


def _only_watches(turns: LoopTwins, kernels: Sequence[str]) -> Module:
    """The twins that count turns of some kernels."""
    names = {turns.watches.get(kernel, "") for kernel in kernels}
    return only(turns.module, [kernel for kernel in turns.module.kernels if kernel.name in names])


def _is_loose(subject: Subject, loose: frozenset[str]) -> bool:
    """Whether the clips of what a subject calls are left out."""
    kernels = subject.pipeline.kernels if subject.pipeline else (subject.kernel,)
    return not loose.isdisjoint(kernels)


def _unless_bits(result: Result, subject: Subject) -> Result:
    """The result of a subject, which is not good where nobody knows what its gradient should be."""
    if subject.facts is None or not subject.facts.bits or not result.verdict.good:
        return result
    return replace(result, verdict=Verdict.INCONCLUSIVE, reason=subject.facts.bits)


def _holding(built: Built, kernel: str) -> int | None:
    """The number of the library that has a kernel's plain entry point."""
    for number, library in enumerate(built.libraries):
        if any(entry.kernel == kernel and entry.mode.value == "forward" for entry in library.entries):
            return number
    return None


def _judged(worker: Worker, task: Task | ChainTask) -> Result:
    answer = worker.judge(task)
    if isinstance(answer, Broken):
        return _failed(task, f"the check itself fails at it: {answer.error}", "a defect of slangad: please report it")
    if not isinstance(answer, Crashed):
        return answer
    if answer.how:
        return _failed(task, f"it crashes ({answer.how}) when it runs", _cause_of_death(answer.how, task))
    limit = f"it does not end within {worker.limit:g} s"
    return _failed(task, limit, "a loop that never ends; or more work than --run-limit allows")


def _cause_of_death(how: str, task: Task | ChainTask) -> str:
    """What makes kernels crash in this way."""
    if how not in _DIVIDED:
        return "an index out of bounds, or a loop that runs longer than its [MaxIters]"
    what = "an integer is divided by 0, for its quotient or its remainder"
    columns = input_table(task.kernel).columns if isinstance(task, Task) else ()
    names = [f"'{column.path}'" for column in columns if column.scalar in ("int", "uint")]
    who = names[0] if len(names) == 1 else f"that of {', '.join(names)} which divides"
    return f"{what}: declare a range without 0 for {who}" if names else what


def _failed(task: Task | ChainTask, how: str, cause: str) -> Result:
    from slangad.compiler.check.verdict.decide import blank

    failure = Failure(Leg.COMPILE, Verdict.FAIL, how, cause=cause, reproduce=task.plan.command)
    return replace(blank(task.plan, Verdict.FAIL, f"{how}; likely {cause}"), failures=(failure,))


def _file_result(path: Path, error: CompileError | ToolchainError) -> Result:
    """What stands for a file that can't be read as a program."""
    first = error.diagnostics[0]
    verdict = Verdict.SKIPPED if first.code in _NOTHING_THERE else Verdict.FAIL
    span = first.span if first.span.line else Span(str(path), 1, 1, 1, 1)
    reason = f"{first.message} [{first.code}]"
    told = [f"{d.span}: {d.severity.value}[{d.code}]: {d.message}" for d in error.diagnostics]
    told += [f"help: {d.help}" for d in error.diagnostics if d.help]
    notes = tuple(dict.fromkeys(told))
    failures = () if verdict is Verdict.SKIPPED else (Failure(Leg.COMPILE, verdict, reason, notes=notes),)
    return Result(str(path), "", "function", verdict, span, reason=re.sub(r"\s+", " ", reason), failures=failures)
