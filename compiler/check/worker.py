"""Judges subjects in processes of their own: a kernel that crashes or does not end costs one subject, not the check.

Goes in: libraries, once, then tasks. Comes out: results. This module is also the child's side.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.errors.diagnostics import SlangadError
from slangad.compiler.toolchain.workers.processes import Child, ProcessDiedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.check.build.libraries import Library
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.model.plan import Plan
    from slangad.compiler.check.pipeline_companions import ChainTask
    from slangad.compiler.check.run.companions import Launches
    from slangad.compiler.check.run.device import DeviceJob, DeviceModule, DevicePrograms
    from slangad.compiler.check.run.launch import WholeRunner
    from slangad.compiler.check.run.launch_device import DeviceLaunches
    from slangad.compiler.check.run.thread import Runner, Several
    from slangad.compiler.check.sampling.shapes import ShapeSearch
    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.ir.nodes import Kernel
    from slangad.compiler.report.model import Result
    from slangad.compiler.runtime.device.cpu_kernels import CpuModule

TIME_LIMIT: Final = 60.0
"""Seconds one subject may take."""
_PATIENCE: Final = 4.0
"""How many times as long it may take where other processes want the processor too."""


@dataclass(frozen=True, slots=True)
class Task:
    """One subject to judge, and the numbers of the libraries that hold its kernel."""

    plan: Plan
    kernel: Kernel
    wide: int
    narrow: int | None
    oracle: Kernel | None = None
    watch: Kernel | None = None
    reach: Kernel | None = None
    asked: frozenset[tuple[str, int]] = frozenset()
    launch: Kernel | None = None


class _Load(NamedTuple):
    wide: tuple[Library, ...]
    narrow: tuple[Library, ...]
    device: DeviceJob | None


class Crashed(NamedTuple):
    """The process died over a task; ``how`` is empty when it took too long."""

    how: str


class Broken(NamedTuple):
    """The check itself failed at a task, which tells nothing of other tasks."""

    error: str


class Worker:
    """A child that judges; started at once, so that it is ready when the libraries are."""

    def __init__(self, limit: float = TIME_LIMIT) -> None:
        self.limit = limit
        self._load: _Load | None = None
        self._loaded = False
        self._child: Child | None = None
        self.start()

    def start(self) -> None:
        """Start the child unless it runs."""
        if self._child is None:
            self._child = Child(__name__, paths=tuple(path for path in sys.path if path))
            self._loaded = False

    def load(self, wide: Sequence[Library], narrow: Sequence[Library], device: DeviceJob | None = None) -> None:
        """Say which libraries tasks mean from now on, and where else float32 is to run."""
        self._load, self._loaded = _Load(tuple(wide), tuple(narrow), device), False

    def judge(self, task: Task | ChainTask) -> Result | Crashed | Broken:
        """Judge one subject."""
        try:
            if self._child is None or not self._loaded:
                self.start()
                self._ask(self._load)
                self._loaded = True
            return self._ask(task)  # type: ignore[return-value]  # the child answers a task with a result
        except ProcessDiedError as death:
            self.close()
            return Crashed(death.how)

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _ask(self, request: object) -> object:
        assert self._child is not None  # noqa: S101  (judge starts it)
        with closing(self._child.talk(request, self.limit, patience=_PATIENCE)) as answers:
            answer = next(answers)
        if isinstance(answer, SlangadError):
            raise answer
        if isinstance(answer, Exception):
            return Broken(f"{type(answer).__name__}: {answer}")
        return answer


def main() -> None:
    """Serve one parent: take libraries, then judge tasks until stdin ends."""
    from slangad.compiler.toolchain.workers.frames import private_stdout, requests, send

    libraries = _Libraries()
    with private_stdout() as pipe:
        for request in requests():
            try:
                if isinstance(request, _Load):
                    libraries = _Libraries(request)
                    answer: object = "loaded"
                else:
                    answer = libraries.judge(request)  # type: ignore[arg-type]  # our own parent sends tasks
            except Exception as error:
                answer = error
            send(pipe, answer)


class _Libraries:
    """The child's libraries, loaded when first needed."""

    def __init__(self, load: _Load | None = None) -> None:
        self._load = load
        self._modules: dict[tuple[bool, int], CpuModule] = {}
        self._device: DevicePrograms | None = None

    def judge(self, task: Task | ChainTask) -> Result:
        """Judge one subject: thread by thread, launch by launch, or as a chain of launches."""
        from slangad.compiler.check.method import judge
        from slangad.compiler.check.run.companions import Companions
        from slangad.compiler.check.verdict.explain.lost_gradients import with_lost_gradients

        if not isinstance(task, Task):
            return self._judge_chain(task)
        if task.reach is not None:
            return self._judge_whole(task, task.reach)
        narrow = None if task.narrow is None else self.runner(task, wide=False)
        oracle, watch, device = self.twin(task, task.oracle), self.twin(task, task.watch), self.on_device(task)
        wide = self.runner(task, wide=True)
        companions = Companions(oracle, watch, device, launches=self._launches(task), arrays=wide)
        return with_lost_gradients(judge(task.plan, wide, narrow, companions), task.plan, task.kernel, wide)

    def _judge_chain(self, task: ChainTask) -> Result:
        from slangad.compiler.check.pipeline_companions import judge_chain

        return judge_chain(task, self.holding, self._on_device)

    def holding(self, kernel: str, wide: bool) -> tuple[CpuModule, list[EntryPoint]] | None:  # noqa: FBT001  (which build)
        """The library that holds a kernel, and its entry points in it; None where it doesn't compile."""
        assert self._load is not None  # noqa: S101  (the parent loads first)
        for number, library in enumerate(self._load.wide if wide else self._load.narrow):
            points = [entry for entry in library.entries if entry.kernel == kernel]
            if points:
                return self._module(number, library, wide=wide), points
        return None

    def _judge_whole(self, task: Task, reach: Kernel) -> Result:
        from slangad.compiler.check.method import judge
        from slangad.compiler.check.run.companions import Companions
        from slangad.compiler.check.verdict.decide import blank
        from slangad.compiler.report.model import Verdict

        twins = [kernel for kernel in (task.oracle, task.watch, reach) if kernel is not None]
        if not all(self._entries(replace(task, kernel=kernel), wide=True)[1] for kernel in twins):
            return blank(task.plan, Verdict.INCONCLUSIVE, "Slang doesn't take the twins of it that a check needs")
        found = self._extents(task, reach)
        if isinstance(found, str):
            return blank(task.plan, Verdict.INCONCLUSIVE, found)
        narrow = None if task.narrow is None else self.whole(task, found, wide=False)
        oracle, watch = (
            None if kernel is None else self.whole(replace(task, kernel=kernel), found)
            for kernel in (task.oracle, task.watch)
        )
        device, reached = self.whole_on_device(task, found), self.whole(replace(task, kernel=reach), found)
        others = Companions(oracle, watch, device, reached, self._launches(task, found))
        return judge(task.plan, self.whole(task, found), narrow, others)

    def _extents(self, task: Task, reach: Kernel) -> Extents | str:
        """How large the launches of a kernel are."""
        return self._search(task, reach).find()

    def _search(self, task: Task, reach: Kernel) -> ShapeSearch:
        from slangad.compiler.check.sampling.shapes import ShapeSearch

        twin = replace(task, kernel=reach)
        plan = task.plan
        return ShapeSearch(
            task.kernel,
            lambda size: self.whole(twin, size),
            task.asked,
            dict(plan.shapes),
            plan.ranges,
            plan.seed,
            integers=plan.integers,
        )

    def _launches(self, task: Task, small: Extents | None = None) -> Launches | None:
        """The kernel as it is launched, at any size; ``small`` is one that fits."""
        from slangad.compiler.check.model.launch_columns import Extents
        from slangad.compiler.check.run.companions import Launches

        if task.launch is None or not self._entries(replace(task, kernel=task.launch), wide=True)[1]:
            return None
        own, reach = replace(task, kernel=task.launch), task.reach if small is not None else None

        def extents(domain: tuple[int, ...]) -> Extents | str:
            if small is None or task.reach is None:
                return Extents(domain, {})
            return self._search(task, task.reach).at(domain, small)

        def narrow(size: Extents) -> RowFunction | None:
            device = self.whole_on_device(own, size)
            if device is None and task.narrow is not None:
                return self.whole(own, size, wide=False)
            return None if isinstance(device, str) else device

        return Launches(
            extents,
            lambda size: self.whole(own, size),
            narrow,
            self.runner(task, wide=True) if small is None else None,
            self._single(task) if small is None else None,
            task.launch.dims,
            task.plan.integers,
            None if reach is None else lambda size: self.whole(replace(task, kernel=reach), size),
        )

    def _single(self, task: Task) -> Runner | None:
        """What one thread does in float32, where that runs."""
        device = self.on_device(task)
        if device is None and task.narrow is not None:
            return self.runner(task, wide=False)
        return None if isinstance(device, str) else device

    def whole(self, task: Task, extents: Extents, *, wide: bool = True) -> WholeRunner:
        """A task's kernel launch by launch, in one precision."""
        from slangad.compiler.check.model.launch_columns import launch_inputs, launch_results
        from slangad.compiler.check.run.launch import WholeRunner
        from slangad.compiler.check.run.thread import NARROW, WIDE

        module, points = self._entries(task, wide=wide)
        entries = {mode: tuple(e for e in points if e.mode is mode) for mode in dict.fromkeys(e.mode for e in points)}
        tables = launch_inputs(task.kernel, extents), launch_results(task.kernel, extents)
        return WholeRunner(module, WIDE if wide else NARROW, entries, task.kernel, extents, *tables)

    def whole_on_device(self, task: Task, extents: Extents) -> DeviceLaunches | str | None:
        """The task's kernel on the device, launch by launch."""
        from slangad.compiler.check.model.launch_columns import launch_inputs, launch_results
        from slangad.compiler.check.run.launch_device import DeviceLaunches

        found = self._on_device(task.kernel.name)
        if found is None or isinstance(found, str):
            return found
        module, points = found
        entries = {mode: tuple(e for e in points if e.mode is mode) for mode in dict.fromkeys(e.mode for e in points)}
        tables = launch_inputs(task.kernel, extents), launch_results(task.kernel, extents)
        return DeviceLaunches(module, entries, task.kernel, extents, *tables)

    def on_device(self, task: Task) -> Runner | str | None:
        """The task's kernel on the device, or why the device doesn't take it; None where the CPU is the device."""
        from slangad.compiler.check.model.columns import input_table, result_table
        from slangad.compiler.check.run.thread import NARROW, Runner

        programs = self._programs()
        if programs is None:
            return None
        module = programs.kernel(task.kernel.name)
        if isinstance(module, str):
            return module
        entries = {e.mode: e for e in programs.entries if e.kernel == task.kernel.name}
        return Runner(module, NARROW, entries, input_table(task.kernel), result_table(task.kernel))

    def _on_device(self, *kernels: str) -> tuple[DeviceModule, list[EntryPoint]] | str | None:
        """The program that holds some kernels, and their entry points."""
        programs = self._programs()
        if programs is None:
            return None
        points = [e for e in programs.entries if e.kernel in kernels]
        module = programs.module([point.name for point in points])
        return module if isinstance(module, str) else (module, points)

    def _programs(self) -> DevicePrograms | None:
        """What there is on the device; None where the CPU is the device."""
        from slangad.compiler.check.run.device import DevicePrograms

        if self._device is None and self._load is not None and self._load.device is not None:
            self._device = DevicePrograms(self._load.device)
        return self._device

    def runner(self, task: Task, *, wide: bool) -> Runner:
        """The entry points of a task's kernel in one precision."""
        from slangad.compiler.check.model.columns import input_table, result_table
        from slangad.compiler.check.run.thread import NARROW, WIDE, Runner, Several

        module, points = self._entries(task, wide=wide)
        found: CpuModule | Several = module
        apart = self._apart(task, wide=wide)
        if len(apart) > 1:
            found, points = Several({e.name: one for one, e in apart}), [e for _, e in apart]
        tables = input_table(task.kernel), result_table(task.kernel)
        return Runner(found, WIDE if wide else NARROW, {e.mode: e for e in points}, *tables)

    def _apart(self, task: Task, *, wide: bool) -> list[tuple[CpuModule, EntryPoint]]:
        """The entry points of a task's kernel where each is in a library by itself; none where they are together."""
        assert self._load is not None  # noqa: S101  (the parent loads first)
        name = task.kernel.name
        libraries = list(enumerate(self._load.wide if wide else self._load.narrow))
        alone = [(k, one, one.entries[0]) for k, one in libraries if [e.kernel for e in one.entries] == [name]]
        return [(self._module(k, one, wide=wide), entry) for k, one, entry in alone]

    def _entries(self, task: Task, *, wide: bool) -> tuple[CpuModule, list[EntryPoint]]:
        """The library that holds a task's kernel, and its entry points in it."""
        assert self._load is not None  # noqa: S101  (the parent loads first)
        number = task.wide if wide else task.narrow
        assert number is not None  # noqa: S101  (told by the caller)
        libraries = self._load.wide if wide else self._load.narrow
        name = task.kernel.name
        holding = (k for k, library in enumerate(libraries) if any(e.kernel == name for e in library.entries))
        number = next(holding, number)
        points = [e for e in libraries[number].entries if e.kernel == name]
        return self._module(number, libraries[number], wide=wide), points

    def twin(self, task: Task, kernel: Kernel | None) -> Runner | None:
        """A twin of a task's kernel, if there is one."""
        return None if kernel is None else self.runner(replace(task, kernel=kernel), wide=True)

    def _module(self, number: int, library: Library, *, wide: bool) -> CpuModule:
        from slangad.compiler.runtime.device.cpu_kernels import load_module

        if (wide, number) not in self._modules:
            self._modules[wide, number] = load_module(library.data, library.reflection)
        return self._modules[wide, number]
