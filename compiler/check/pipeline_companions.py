"""One pipeline from samples to verdict, in a worker: its stages' kernels in both builds go in, a result comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check.method import judge
from slangad.compiler.check.model.launch_columns import Extents, launch_inputs, launch_results
from slangad.compiler.check.run.companions import Companions
from slangad.compiler.check.run.launch import WholeRunner
from slangad.compiler.check.run.pipeline import ChainRunner
from slangad.compiler.check.run.pipeline_device import ChainOnDevice
from slangad.compiler.check.run.pipeline_stages import ChainOracle, ChainWatch, StageRunner
from slangad.compiler.check.run.row_device import LoadedProgram
from slangad.compiler.check.run.thread import NARROW, WIDE
from slangad.compiler.check.sampling.pipeline_shapes import PipelineShapeSearch
from slangad.compiler.check.verdict.decide import blank
from slangad.compiler.check.verdict.explain.stages import with_stages
from slangad.compiler.emit.model import EmittedModule, Mode
from slangad.compiler.ir.nodes import Module
from slangad.compiler.report.model import Verdict
from slangad.compiler.runtime.arrays.signature import signatures
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
from slangad.compiler.runtime.pipeline.runnable import chains
from slangad.compiler.runtime.pipeline.stages import shapes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slangad.compiler.check.model.columns import Table
    from slangad.compiler.check.model.plan import Plan
    from slangad.compiler.check.model.subject import CheckedPipeline
    from slangad.compiler.check.run.device import DeviceModule
    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.ir.nodes import Kernel
    from slangad.compiler.ir.pipelines import Pipeline
    from slangad.compiler.report.model import Result
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.device.cpu_kernels import CpuModule
    from slangad.compiler.runtime.pipeline.runnable import Chain

    OnDevice = Callable[..., "tuple[DeviceModule, list[EntryPoint]] | str | None"]
    Find = Callable[[str, bool], "tuple[CpuModule, list[EntryPoint]] | None"]


@dataclass(frozen=True, slots=True)
class ChainTask:
    """One pipeline to judge.

    Attributes:
        kernels: Those of its stages and their twins, by name.
        twins: The names of the oracle, of what minds loops and of what writes down indices, by kernel; empty where
            there is none.
    """

    plan: Plan
    pipeline: CheckedPipeline
    kernels: Mapping[str, Kernel]
    twins: Mapping[str, tuple[str, str, str]]


def judge_chain(task: ChainTask, find: Find, device: OnDevice) -> Result:
    """Check one pipeline.

    Args:
        task: Which.
        find: The library that holds a kernel in a precision, with its entry points; None where it doesn't compile.
        device: Kernels on the device where float32 runs, or why it doesn't take them; None where that is the CPU.
    """
    chosen = _Chosen(task, find)
    found = chosen.search()
    if isinstance(found, str):
        return blank(task.plan, Verdict.INCONCLUSIVE, found)
    pipeline = task.pipeline.joined
    wide = chosen.runner(pipeline, found, wide=True)
    narrow = chosen.runner(pipeline, found, wide=False)
    assert wide is not None  # noqa: S101  (else it is refused)
    oracle = chosen.oracle(found)
    apart = chosen.runner(task.pipeline.apart, found, wide=True) if task.pipeline.apart != pipeline else None
    watch = ChainWatch(oracle) if any(stage.watch for stage in oracle.stages) else None
    companions = Companions(
        oracle=oracle, watch=watch, device=chosen.on_device(found, device), reach=oracle, apart=apart
    )
    return with_stages(judge(task.plan, wide, narrow, companions), oracle, task.plan.seed)


@dataclass(frozen=True, slots=True)
class _Chosen:
    task: ChainTask
    find: Find

    def search(self) -> Prepared | str:
        """The sizes of its values."""
        plan = self.task.plan
        chain = self._chain(self.task.pipeline.apart, self._wide)
        return PipelineShapeSearch(chain, self.oracle, dict(plan.shapes), plan.ranges, plan.seed).find()

    def runner(self, pipeline: Pipeline, prepared: Prepared, *, wide: bool) -> ChainRunner | None:
        """The pipeline as the runtime runs it."""
        entries: dict[str, tuple[CpuModule, EntryPoint]] = {}
        for stage in pipeline.stages:
            held = self.find(stage.kernel, wide)
            if held is None:
                return None
            entries |= {point.name: (held[0], point) for point in held[1]}
        chain = self._chain(pipeline, lambda name: [p for _, p in entries.values() if p.kernel == name])
        emitted = EmittedModule("", "", {}, (), {}, ())
        program = LoadedProgram(emitted, entries)
        tables = self._tables(chain, prepared)
        return ChainRunner(chain, program, WIDE if wide else NARROW, prepared, shapes_of(chain, prepared), *tables)

    def on_device(self, prepared: Prepared, device: OnDevice) -> ChainOnDevice | str | None:
        """The pipeline on the device, as users run it."""
        pipeline = self.task.pipeline.joined
        found = device(*dict.fromkeys(stage.kernel for stage in pipeline.stages))
        if found is None or isinstance(found, str):
            return found
        module, points = found
        chain = self._chain(pipeline, lambda name: [point for point in points if point.kernel == name])
        tables = self._tables(chain, prepared)
        return ChainOnDevice(chain, module, prepared, shapes_of(chain, prepared), *tables)

    def oracle(self, prepared: Prepared) -> ChainOracle:
        """The pipeline stage by stage."""
        checked = self.task.pipeline
        chain = self._chain(checked.apart, self._wide)
        shapes = shapes_of(chain, prepared)
        stages = []
        for stage, shape in zip(checked.apart.stages, shapes.stages, strict=True):
            frozen, watch, reach = (self.task.kernels.get(name) for name in self.task.twins[stage.kernel])
            extents = Extents(shape.domain, shape.extents)
            stages.append(
                StageRunner(
                    self._whole(self.task.kernels[stage.kernel], extents),
                    self._whole(frozen, extents) if frozen else None,
                    self._whole(reach, extents) if reach else None,
                    checked.shown[stage.kernel],
                    self._whole(watch, extents) if watch else None,
                )
            )
        return ChainOracle(chain, shapes, stages, *self._tables(chain, prepared))

    def _whole(self, kernel: Kernel, extents: Extents) -> WholeRunner:
        held = self.find(kernel.name, True)  # noqa: FBT003  (wide)
        assert held is not None  # noqa: S101  (else it is refused)
        module, points = held
        entries = {mode: tuple(p for p in points if p.mode is mode) for mode in dict.fromkeys(p.mode for p in points)}
        tables = launch_inputs(kernel, extents), launch_results(kernel, extents)
        return WholeRunner(module, WIDE, entries, kernel, extents, *tables)

    def _tables(self, chain: Chain, prepared: Prepared) -> tuple[Table, Table]:
        shapes = shapes_of(chain, prepared)
        results = {r.name: shapes.values[r.value] for r in chain.pipeline.results}
        extents = Extents(prepared.domain, {**prepared.extents, **results})
        outside = self.task.pipeline.outside
        return launch_inputs(outside, extents), launch_results(outside, extents)

    def _chain(self, pipeline: Pipeline, entries_of: Callable[[str], Sequence[EntryPoint]]) -> Chain:
        kernels = tuple(self.task.kernels[name] for name in dict.fromkeys(s.kernel for s in pipeline.stages))
        module = Module(pipeline.name, "", kernels=kernels, pipelines=(pipeline,))
        plans = {}
        for name, signature in signatures(module).items():
            points = entries_of(name)
            entries = {mode: tuple(p for p in points if p.mode is mode) for mode in Mode}
            plans[name] = KernelPlan(signature, entries, {})
        return chains(module, plans)[pipeline.name]

    def _wide(self, name: str) -> Sequence[EntryPoint]:
        held = self.find(name, True)  # noqa: FBT003  (wide)
        return held[1] if held else ()
