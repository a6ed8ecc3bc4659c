"""Build the harness kernels of a module as CPU libraries, in float32 and in float64.

Both precisions build at the same time. If a build crashes, hangs or is rejected, its halves are built, and so on. A
kernel that is refused alone is left out with the reason. The time for that is limited (see ``repair_time``). Kernels
whose derivatives differ in company (see ``separately``) build as they are shipped: entry point by entry point.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.build.cpp_faults import first_error, without_faults
from slangad.compiler.check.build.double import build_job
from slangad.compiler.check.build.reached import ReachedTexts
from slangad.compiler.check.build.repair_time import GIVEN_UP, RepairTime
from slangad.compiler.check.build.separately import kernels_apart
from slangad.compiler.check.build.undefined_values import with_undefined_shown
from slangad.compiler.check.twins import declared, group_accesses, index_ranges, loop_bounds, slang_declared
from slangad.compiler.emit import Mode, emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.ir.kernels import Memory
from slangad.compiler.ir.subset import only, without_other_files
from slangad.compiler.runtime.device.cpu_rows import with_rows
from slangad.compiler.runtime.device.cxx import RejectionError, build_shared_library
from slangad.compiler.slang_text.copies import SourceTexts
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.toolchain.workers.processes import end_processes_until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from slangad.compiler.check.build.kept_files import KeptFiles
    from slangad.compiler.check.twins.text_twins import TextTwins
    from slangad.compiler.driver.slang_compilers import SlangCompilers
    from slangad.compiler.emit.model import EmittedModule, EntryPoint
    from slangad.compiler.ir.nodes import Kernel, Module
    from slangad.compiler.runtime.device.cxx import Optimization
    from slangad.compiler.toolchain.cache import Cache
    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult

SLANG: Final = "Slang: "
"""The prefix of the reason of a refusal by the Slang compiler."""
CXX: Final = "the C++ compiler takes too long on it"
"""The prefix of the reason of a refusal for C++ that is too slow to compile."""
DEATHS: Final = {"SA240": "the Slang compiler crashes on it", "SA241": "the Slang compiler takes too long on it"}
_ONE_DERIVATIVE: Final = (Mode.FORWARD.value, Mode.BACKWARD.value)
"""The modes that are run in float32."""
_VALIDATED: Final = ("spirv",)
"""The targets for which Slang notices that its code is wrong. For CUDA it makes the same wrong code as for C++."""


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library with Slang's reflection of it, and the entry points in it."""

    data: bytes
    reflection: str
    entries: tuple[EntryPoint, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A kernel, or one mode of it, that cannot be built, and why.

    Attributes:
        cpp: True if the C++ compiler rejects Slang's code. ``reason`` is its first error then.
        elsewhere: Slang's error for GPUs; empty if Slang accepts it for one of them, None if that was not tried.
    """

    kernel: str
    mode: str
    reason: str
    cpp: bool = False
    elsewhere: str | None = None

    @property
    def is_slow(self) -> bool:
        """True if a compiler takes too long, which it may only do today."""
        return self.reason == DEATHS["SA241"] or self.reason.startswith((CXX, GIVEN_UP))


@dataclass(frozen=True, slots=True)
class Built:
    """One precision of a program.

    Attributes:
        whole: The kernels that are built with complete files, because Slang refuses them with the used parts alone.
    """

    libraries: tuple[Library, ...]
    refusals: tuple[Refusal, ...]
    whole: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BuildSetting:
    """The settings of a build: imports, macros, time limit, cache, replaced texts of Slang files, arguments of Slang.

    ``keep`` is the folder that keeps what is generated, if the user names one.
    """

    include_dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]
    time_limit: float
    cache: Cache | None
    texts: Mapping[str, str] = field(default_factory=dict)
    slang_flags: tuple[str, ...] = ()
    keep: KeptFiles | None = None


def build_both(
    module: Module,
    setting: BuildSetting,
    compilers: tuple[SlangCompilers, SlangCompilers],
    text_twins: Sequence[TextTwins] = (),
    unclipped: TextTwins | None = None,
    *,
    forward: Collection[str] = (),
) -> tuple[Built, Built]:
    """Return the float64 twin, with twins from changed texts, and the program itself.

    The program itself runs one derivative. Forward mode of it is built only where reverse mode can not be compared.

    Args:
        module: The program.
        setting: The settings of the build.
        compilers: One for each precision.
        text_twins: Twins from changed texts.
        unclipped: Kernels of the program that are built from a changed text, in both precisions.
        forward: The kernels that are checked without reverse mode.

    Raises:
        ToolchainError: There is no Slang or no C++ compiler.
    """
    reached = _reached_texts(module, setting)
    read = reached.texts(emit_module(module).text) if reached else sources_of(module, setting).files
    apart = kernels_apart(module, read)
    overloads = frozenset(kernel.name for kernel in module.kernels if reached and reached.is_replaced(kernel.span))
    f64 = _Builder(module, setting, compilers[0], f64=True, apart=apart, overloads=overloads, reached=reached)
    builds: list[Future[Built]] = []

    def suspects() -> frozenset[tuple[str, str]]:
        refusals = (one for build in builds for one in build.result().refusals)
        return frozenset((one.kernel, one.mode) for one in refusals if not one.reason.startswith(GIVEN_UP))

    f32 = _Builder(module, setting, compilers[1], f64=False, apart=apart, reached=reached, suspects=suspects)
    loose = {kernel.name for kernel in unclipped.module.kernels} if unclipped else set()

    def every(builder: _Builder, kernels: Sequence[Kernel]) -> Built:
        if unclipped is None:
            return builder.build(kernels)
        changed = replace(setting, texts={**setting.texts, **unclipped.texts})
        without = replace(builder, setting=changed, apart=frozenset(), reached=_reached_texts(module, changed))
        near, others = ([one for one in kernels if (one.name in loose) is is_loose] for is_loose in (False, True))
        return _joined([builder.build(near), without.build(others)])

    def rest() -> tuple[Built, tuple[Library, ...]]:
        kernels = [one if one.name in forward else _without_forward_mode(one) for one in module.kernels]
        return every(f32, kernels), _build_text_twins(text_twins, setting, compilers[1])

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(every, f64, module.kernels)
        builds.append(first)
        second = pool.submit(rest)
        try:
            built, (other, counting) = first.result(), second.result()
        except KeyboardInterrupt:
            end_processes_until(lambda: first.done() and second.done())
            raise
    more = every(f32, _in_forward_mode(module, built, other))
    other = _joined([more, other]) if more.libraries or more.refusals else other
    again = f32.with_whole_files(other)
    built = built if again is other else f64.with_whole_files(built)
    return replace(built, libraries=(*built.libraries, *counting)), f32.tried_elsewhere(again)


def _without_forward_mode(kernel: Kernel) -> Kernel:
    """Return a kernel without the derivative by forward mode, if it has another."""
    if kernel.modes and Mode.BACKWARD.value not in kernel.modes:
        return kernel
    return replace(kernel, modes=tuple(mode for mode in _ONE_DERIVATIVE if not kernel.modes or mode in kernel.modes))


def _in_forward_mode(module: Module, f64: Built, f32: Built) -> list[Kernel]:
    """Return the kernels that need forward mode in float32 after all: a derivative of them is refused.

    Kernels whose C++ is rejected in both precisions are not run. All stages of a pipeline have the same modes.
    """
    derivatives = (Mode.BACKWARD.value, Mode.JVP.value)
    lost = {one.kernel for one in (*f64.refusals, *f32.refusals) if one.mode in derivatives}
    rejected = [{(one.kernel, one.mode) for one in build.refusals if one.cpp} for build in (f64, f32)]
    lost -= {kernel for kernel, _ in set.intersection(*rejected)}
    built = {entry.kernel for library in f32.libraries for entry in library.entries}
    wanted = built if module.pipelines and lost else built & lost
    kernels = [kernel for kernel in module.kernels if kernel.name in wanted]
    modes = (Mode.FORWARD.value, Mode.JVP.value)
    return [replace(one, modes=modes) for one in kernels if not one.modes or Mode.JVP.value in one.modes]


def _build_text_twins(
    twins: Iterable[TextTwins], setting: BuildSetting, compilers: SlangCompilers
) -> tuple[Library, ...]:
    """Return twins from changed texts, as far as they can be built."""
    result: list[Library] = []
    for one in twins:
        keep = setting.keep.below("twins") if setting.keep else None
        changed = replace(setting, texts={**setting.texts, **one.texts}, keep=keep)
        builder = _Builder(one.module, changed, compilers, f64=True, reached=_reached_texts(one.module, changed))
        result += builder.build(one.module.kernels).libraries
    return tuple(result)


def _reached_texts(module: Module, setting: BuildSetting) -> ReachedTexts | None:
    """Return the files of which kernels of a Slang file get only the parts that they use; None for other modules."""
    if not is_slang(module.source):
        return None
    return ReachedTexts(sources_of(module, setting).files, setting.defines)


def sources_of(module: Module, setting: BuildSetting) -> SourceTexts:
    """Return the Slang files of a module, each with the text to use."""
    files = [path for path in module.sources if is_slang(module.source) or is_slang(path)]
    texts = {file: setting.texts.get(file) or setting.texts.get(Path(file).name) or text_of(file) for file in files}
    return SourceTexts(module.source, texts, setting.include_dirs)


class _Attempt(NamedTuple):
    """A compile of some kernels."""

    emitted: EmittedModule
    result: CompileResult
    job: CompileJob


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds kernels of a module in one precision.

    Attributes:
        apart: The kernels to build entry point by entry point.
        overloads: The kernels to build one by one, because a float64 twin has only one overload of some functions.
        reached: The Slang files of the module, to be cut down to what kernels reach.
        suspects: Returns what the other precision can't build, by kernel and mode.
        time: The time for finding what a compiler refuses.
        numbers: The numbers of the texts that are compiled besides the first.
    """

    module: Module
    setting: BuildSetting
    compilers: SlangCompilers
    f64: bool
    apart: frozenset[str] = frozenset()
    overloads: frozenset[str] = frozenset()
    reached: ReachedTexts | None = None
    suspects: Callable[[], Collection[tuple[str, str]]] = frozenset
    time: RepairTime = field(default_factory=RepairTime)
    numbers: Iterator[int] = field(default_factory=count)

    def build(self, kernels: Sequence[Kernel]) -> Built:
        """Build kernels, together where possible."""
        if not self.f64:
            kernels = [kernel for kernel in kernels if not kernel.name.startswith("oracle_")]
        near = [kernel for kernel in kernels if not {kernel.name} & (self.apart | self.overloads)]
        alone = [kernel for kernel in kernels if kernel.name in self.apart]
        others = [kernel for kernel in kernels if kernel.name in self.overloads - self.apart]
        if not is_slang(self.module.source):  # launches need all entry points in one library
            return _joined([self._together(near), *(self._together([kernel]) for kernel in alone)])
        apart = (self._together([kernel]) for kernel in others)
        return _joined([self._together(near), self._entry_by_entry(alone), *apart])

    def with_whole_files(self, built: Built) -> Built:
        """Return a build in which kernels that Slang refuses from parts of files come from complete files."""
        lost = [one for one in built.refusals if not one.cpp and not _is_final(one)]
        if self.reached is None or not lost:
            return built
        if self.time.is_over:
            return built
        modes = {one.kernel: tuple(other.mode for other in lost if other.kernel == one.kernel) for one in lost}
        kernels = [replace(k, modes=tuple(filter(None, modes[k.name]))) for k in self.module.kernels if k.name in modes]
        whole = replace(self, reached=None, suspects=frozenset).build(kernels)
        left_out = {entry.kernel for library in whole.libraries for entry in library.entries}
        left_out |= {one.kernel for one in whole.refusals if one.reason.startswith(GIVEN_UP)}
        if not left_out:
            return built
        refusals = [one for one in built.refusals if one not in lost or one.kernel not in left_out]
        refusals += [one for one in whole.refusals if one.kernel in left_out]
        return Built((*built.libraries, *whole.libraries), tuple(refusals), frozenset(left_out))

    def tried_elsewhere(self, built: Built) -> Built:
        """Return a build whose refusals say if Slang makes code for GPUs."""
        tried = [one for one in built.refusals if not _is_final(one)]
        known = {kernel.name: kernel for kernel in self.module.kernels}
        errors: dict[Refusal, str] = {}
        for first in range(0, len(tried), tol.REPAIR_AT_ONCE):
            if not self.time.is_over:
                errors |= self._errors_elsewhere(tried[first : first + tol.REPAIR_AT_ONCE], known)
        known_there = (replace(one, elsewhere=errors.get(one)) for one in built.refusals)
        return self._without_more(replace(built, refusals=tuple(known_there)))

    def _errors_elsewhere(self, refusals: Sequence[Refusal], known: Mapping[str, Kernel]) -> dict[Refusal, str]:
        """Return Slang's errors for GPUs; an empty text if it accepts something for one of them."""
        kernels = [replace(known[one.kernel], modes=(one.mode,) if one.mode else ()) for one in refusals]
        jobs = [self._job(self._emit([kernel]), next(self.numbers)) for kernel in kernels]
        gpus = [_VALIDATED if one.cpp else (*_VALIDATED, "cuda") for one in refusals]
        before = self.compilers.seconds
        results = self.compilers.compile([replace(job, targets=its) for job, its in zip(jobs, gpus, strict=True)])
        self.time.add_seconds(self._seconds_since(before, len(jobs)))
        return {one: "" if result.artefacts else _reason(result) for one, result in zip(refusals, results, strict=True)}

    def _without_more(self, built: Built) -> Built:
        """Return a build that gives up those refusals of which nobody knows if they hold elsewhere."""
        refusals = (
            one if _is_final(one) or one.elsewhere is not None else replace(one, reason=self.time.reason, cpp=False)
            for one in built.refusals
        )
        return replace(built, refusals=tuple(refusals))

    def _entry_by_entry(self, kernels: Sequence[Kernel]) -> Built:
        """Build every entry point separately."""
        emitted = [self._emit([kernel]) for kernel in kernels]
        singles = [
            replace(kernel, modes=(mode,)) for kernel, its in zip(kernels, emitted, strict=True) for mode in _modes(its)
        ]
        return _joined(
            self._link([single], one) if _is_accepted(one.result) else self._refused(single, one)
            for single, one in zip(singles, self._compiled([[single] for single in singles]), strict=True)
        )

    def _together(self, kernels: Sequence[Kernel]) -> Built:
        """Build kernels together. If that fails, leave out those that cause it."""
        if not kernels:
            return Built((), ())
        (tried,) = self._tried([kernels])
        if _is_accepted(tried.result):
            return self._link(kernels, tried)
        return self._without_refused(kernels)

    def _without_refused(self, kernels: Sequence[Kernel]) -> Built:
        """Build kernels that Slang refuses together without those that cause it: modes of functions of Slang files."""
        if not is_slang(self.module.source):  # launches need all entry points in one library
            built, alone = self._searched(_halves(kernels) or [kernels])
            return _joined([built, self._mode_by_mode([kernel for kernel, _ in alone])])
        nearby = sorted(kernels, key=lambda one: (one.span.file, one.span.line))  # a kernel and its twins
        singles = [replace(one, modes=(mode,)) for one in nearby for mode in _modes(self._emit([one]))]
        forward = [one for one in singles if one.modes == (Mode.FORWARD.value,)]
        values, lost = self._searched(self._known_apart([forward]))
        hanging = {one.name for one, reason in lost if reason == DEATHS["SA241"]}
        others = [one for one in singles if one not in forward]
        groups = [[one for one in others if one.modes == modes] for modes in dict.fromkeys(one.modes for one in others)]
        tried = [[one for one in group if one.name not in hanging] for group in groups]
        parts = [part for group in tried for part in self._suspects_apart(group)]
        derivatives, more = self._searched(self._known_apart(parts))
        lost += [(one, DEATHS["SA241"]) for one in others if one.name in hanging]
        refusals = [Refusal(one.name, one.modes[0], reason) for one, reason in (*lost, *more)]
        return _joined([values, derivatives, Built((), tuple(refusals))])

    def _searched(self, groups: Sequence[Sequence[Kernel]]) -> tuple[Built, list[tuple[Kernel, str]]]:
        """Build groups of kernels. Halve what Slang refuses. Return each refused kernel with the reason."""
        collected: list[Built] = []
        alone: list[tuple[Kernel, str]] = []
        while groups and not self.time.is_over:
            refused = []
            for group, tried in zip(groups, self._tried(groups), strict=True):
                if _is_accepted(tried.result):
                    collected.append(self._link(group, tried))
                elif len(group) == 1:
                    alone.append((group[0], self._located_reason(tried)))
                else:
                    refused += _halves(group)
            groups = refused
        return _joined([*collected, self._given_up([kernel for group in groups for kernel in group])]), alone

    def _known_apart(self, groups: Sequence[Sequence[Kernel]]) -> list[Sequence[Kernel]]:
        """Return groups of modes with each one apart that the other precision can't build. That saves a search."""
        known = self.suspects()
        single = [[one] for group in groups for one in group if (one.name, *one.modes) in known]
        rest = ([one for one in group if (one.name, *one.modes) not in known] for group in groups)
        return [group for group in (*rest, *single) if group]

    def _suspects_apart(self, kernels: Sequence[Kernel]) -> list[Sequence[Kernel]]:
        """Return kernels in two groups. Those of the second call derivatives, and Slang dies of most of theirs."""
        suspects = [one for one in kernels if self.reached is not None and self.reached.calls_derivatives(one.span)]
        others = [one for one in kernels if one not in suspects]
        return [group for group in (others, suspects) if group]

    def _given_up(self, kernels: Iterable[Kernel]) -> Built:
        modes = ((one.name, one.modes[0] if len(one.modes) == 1 else "") for one in kernels)
        return Built((), tuple(Refusal(*one, self.time.reason) for one in modes))

    def _compiled(self, groups: Sequence[Sequence[Kernel]]) -> list[_Attempt]:
        """Return Slang's results for groups of kernels, each group together."""
        emitted = [self._emit(group) for group in groups]
        several = len(groups) > 1
        jobs = [self._job(one, next(self.numbers) if several else None) for one in emitted]
        results = self.compilers.compile(jobs) if jobs else []
        if self.setting.keep is not None:
            for job in jobs:
                self._folder(self.setting.keep).add(job)
        return [_Attempt(*one) for one in zip(emitted, results, jobs, strict=True)]

    def _folder(self, keep: KeptFiles) -> KeptFiles:
        """Return the folder that keeps what is generated in this precision."""
        return keep.below("float64" if self.f64 else "float32")

    def _tried(self, groups: Sequence[Sequence[Kernel]]) -> list[_Attempt]:
        """Return the same, and count what fails as time of the search."""
        before = self.compilers.seconds
        built = self._compiled(groups)
        lost = sum(len(one.job.entry_points) for one in built if not _is_accepted(one.result))
        failing = lost / max(1, sum(len(one.job.entry_points) for one in built))
        self.time.add_seconds(self._seconds_since(before, len(built)), failing)
        return built

    def _seconds_since(self, before: float, jobs: int) -> float:
        """Return about how long some jobs took, if nothing else used the machine: from their processor time."""
        return (self.compilers.seconds - before) / max(1, min(jobs, self.compilers.workers))

    def _library(self, kernel: Kernel) -> Built:
        """Build some modes of one kernel."""
        (tried,) = self._tried([[kernel]])
        return self._link([kernel], tried) if _is_accepted(tried.result) else self._refused(kernel, tried)

    def _refused(self, kernel: Kernel, attempt: _Attempt) -> Built:
        mode = kernel.modes[0] if len(kernel.modes) == 1 else ""
        return Built((), (Refusal(kernel.name, mode, _reason(attempt.result)),))

    def _located_reason(self, attempt: _Attempt) -> str:
        """Return the reason why Slang makes no code; for the float64 twin, with the refused line."""
        if not self.f64:
            return _reason(attempt.result)
        texts = {Path(name).name: text for name, text in attempt.job.modules} | {attempt.job.name: attempt.job.source}
        users = {Path(file).name for file in self.module.sources}
        return _reason(attempt.result, {name: "" if name in users else text for name, text in texts.items()})

    def _link(self, kernels: Sequence[Kernel], attempt: _Attempt) -> Built:
        emitted, result, job = attempt
        reflection = result.reflection_text("cpp") or ""
        code = with_rows(with_undefined_shown(result.artefacts[0].data))
        if self.setting.keep is not None:
            self._folder(self.setting.keep).write(f"{Path(job.name).stem}.cpp", code)
        start = time.perf_counter()
        try:
            library = Library(self._shared(code), reflection, emitted.entry_points)
            self.time.add_seconds(time.perf_counter() - start, 0.0)
            return Built((library,), ())
        except RejectionError as error:
            self.time.add_seconds(time.perf_counter() - start)
            return self._without_faulty(kernels, emitted, (code, reflection), error)
        except ToolchainError as error:
            if error.diagnostics[0].code != "SA241":
                raise
            self.time.add_seconds(time.perf_counter() - start)
            return self._singly(kernels, f"{CXX}: {error.diagnostics[0].message}")

    def _shared(self, code: bytes) -> bytes:
        shares = any(p.memory is not Memory.EACH for kernel in self.module.kernels for p in kernel.params)
        optimization: Optimization = tol.OPTIMIZATION_OF_LAUNCHES if shares else tol.OPTIMIZATION
        return build_shared_library(code, optimization=optimization, cache=self.setting.cache)

    def _without_faulty(
        self, kernels: Sequence[Kernel], emitted: EmittedModule, made: tuple[bytes, str], error: RejectionError
    ) -> Built:
        """Build rejected C++ without the entry points that are rejected by themselves, too."""
        code, reflection = made
        left = without_faults(code, error.output) if len(kernels) > 1 or len(_modes(emitted)) > 1 else None
        if left is None:
            return self._singly(kernels, first_error(error.output, code), cpp=True)
        names = left[1]
        faulty = [entry for entry in emitted.entry_points if entry.symbol in names]
        known = {kernel.name: kernel for kernel in kernels}
        singles = dict.fromkeys((e.kernel, e.mode.value) for e in faulty)
        if self.time.is_over:
            return self._given_up(kernels)
        alone = _joined(self._library(replace(known[name], modes=(mode,))) for name, mode in singles)
        try:
            data = None if alone.libraries else self._shared(left[0])
        except ToolchainError:
            data = None
        if data is None:
            return self._singly(kernels, first_error(error.output, code), cpp=True)
        kept = tuple(entry for entry in emitted.entry_points if entry.symbol not in names)
        return Built((Library(data, reflection, kept),) if kept else (), alone.refusals)

    def _singly(self, kernels: Sequence[Kernel], reason: str, *, cpp: bool = False) -> Built:
        """Build kernels that a C++ compiler does not accept together: in halves, at last mode by mode."""
        modes = _modes(self._emit(kernels))
        if len(kernels) == len(modes) == 1:
            return Built((), (Refusal(kernels[0].name, modes[0] if modes else "", reason, cpp),))
        if self.time.is_over:
            return self._given_up(kernels)
        if len(kernels) > 1:
            return _joined(self._together(half) for half in _halves(kernels))
        return _joined(self._library(replace(kernels[0], modes=(mode,))) for mode in modes)

    def _mode_by_mode(self, kernels: Sequence[Kernel]) -> Built:
        """Build those modes of kernels that Slang accepts."""
        if self.time.is_over:
            return self._given_up(kernels)
        singles = [replace(one, modes=(mode,)) for one in kernels for mode in _modes(self._emit([one]))]
        failing = self._failing_modes(singles)
        refusals = [Refusal(singles[k].name, singles[k].modes[0], reason) for k, reason in failing.items()]
        kept = [single for k, single in enumerate(singles) if k not in failing]
        modes = {one.name: tuple(single.modes[0] for single in kept if single.name == one.name) for one in kernels}
        good = [replace(one, modes=modes[one.name]) for one in kernels if modes[one.name]]
        return _joined([*(self._library(one) for one in good), Built((), tuple(refusals))])

    def _failing_modes(self, singles: Sequence[Kernel]) -> dict[int, str]:
        """Return the kernels of one mode each that Slang does not compile. Skip derivatives if it hangs on one."""
        forward = [k for k, single in enumerate(singles) if single.modes == (Mode.FORWARD.value,)]
        failing = {forward[n]: reason for n, reason in self._failing([singles[k] for k in forward]).items()}
        hanging = {singles[k].name for k, reason in failing.items() if reason == DEATHS["SA241"]}
        others = [k for k in range(len(singles)) if k not in forward]
        failing |= {k: DEATHS["SA241"] for k in others if singles[k].name in hanging}
        rest = [k for k in others if k not in failing]
        failing |= {rest[n]: reason for n, reason in self._failing([singles[k] for k in rest]).items()}
        return dict(sorted(failing.items()))

    def _failing(self, kernels: Sequence[Kernel]) -> dict[int, str]:
        """Return the kernels that Slang does not compile separately, with the reason."""
        tried = enumerate(self._tried([[kernel] for kernel in kernels]))
        return {k: self._located_reason(one) for k, one in tried if not _is_accepted(one.result)}

    def _emit(self, kernels: Sequence[Kernel]) -> EmittedModule:
        part = only(self.module, kernels)
        if not is_slang(self.module.source) and len(kernels) < len(self.module.kernels):
            part = without_other_files(part)  # which may be what is wrong with other kernels
        emitted = emit_module(part, flat_tables=False)
        libraries = {**emitted.libraries, **slang_declared.libraries_of(self.module)}
        return replace(emitted, text=prelude(self.module) + emitted.text, libraries=libraries)

    def _job(self, emitted: EmittedModule, number: int | None = None) -> CompileJob:
        names = symbols(emitted.entry_points)
        setting = self.setting
        limit = setting.time_limit + tol.COMPILE_LIMIT_EACH * len(names)
        if number is not None:
            emitted = replace(emitted, file_name=f"{number}_{emitted.file_name}")
        sources = sources_of(self.module, setting)
        if self.reached is not None:
            checked = {entry.kernel for entry in emitted.entry_points}
            spans = [kernel.span for kernel in self.module.kernels if kernel.name in checked]
            sources = replace(sources, files=self.reached.texts(emitted.text, spans, f64=self.f64))
        return build_job(
            emitted,
            names,
            sources,
            setting.defines,
            f64=self.f64,
            time_limit=limit,
            slang_flags=setting.slang_flags,
        )


def prelude(module: Module) -> str:
    """Return the text before a module with twins."""
    head = declared.PRELUDE if declared.has_frozen_twins(module) else ""
    head += slang_declared.PRELUDE if slang_declared.has_text_twins(module) else ""
    head += index_ranges.PRELUDE if index_ranges.has_index_twins(module) else ""
    head += group_accesses.PRELUDE if group_accesses.records_accesses(module) else ""
    return head + (loop_bounds.PRELUDE if loop_bounds.watches_loops(module) else "")


def _is_final(refusal: Refusal) -> bool:
    """Return True if the compilers are not asked again."""
    return refusal.is_slow or refusal.reason in DEATHS.values()


def _is_accepted(result: CompileResult) -> bool:
    return bool(result.ok and result.artefacts)


def _halves(kernels: Sequence[Kernel]) -> list[Sequence[Kernel]]:
    """Return both halves of some kernels; nothing if there is one."""
    middle = len(kernels) // 2
    return [kernels[:middle], kernels[middle:]] if middle else []


def _modes(emitted: EmittedModule) -> list[str]:
    """Return the modes of entry points. A mode of a kernel with sums has two entry points."""
    return list(dict.fromkeys(entry.mode.value for entry in emitted.entry_points))


def _joined(parts: Iterable[Built]) -> Built:
    all_parts = list(parts)
    return Built(
        tuple(library for part in all_parts for library in part.libraries),
        tuple(refusal for part in all_parts for refusal in part.refusals),
    )


def _reason(result: CompileResult, texts: Mapping[str, str] | None = None) -> str:
    """Return the reason why Slang makes no code; with texts, also the location and its line."""
    for diagnostic in result.diagnostics:
        return DEATHS.get(diagnostic.code, diagnostic.message)
    error = next((message for message in result.messages if message.is_error), None)
    if error is None:
        return "Slang gives no code for it"
    if texts is None or not error.line:
        return f"{SLANG}{error.text}"
    name = Path(error.file).name
    lines = texts.get(name, "").splitlines()
    line = lines[error.line - 1].strip() if error.line <= len(lines) else ""
    return f"{SLANG}{error.text} ({name}:{error.line}{f': {line}' if line else ''})"
