"""Prepare pipelines to run: as the runtime runs them, in both precisions, and stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check.model.launch_columns import Extents, launch_inputs, launch_results
from slangad.compiler.check.model.outcomes import CheckOutcome, Reason
from slangad.compiler.check.run.companions import Companions, SubjectFunctions
from slangad.compiler.check.run.list_rows import ListRunner
from slangad.compiler.check.run.on_device import PipelineOnDevice
from slangad.compiler.check.run.pipeline import PipelineRunner
from slangad.compiler.check.run.pipeline_stages import PipelineStages, PipelineWatch, StageRunner
from slangad.compiler.check.run.row_device import LoadedProgram
from slangad.compiler.check.run.thread import F32, F64
from slangad.compiler.check.sampling.pipeline_shapes import PipelineShapeSearch
from slangad.compiler.emit.model import EmittedModule, Mode
from slangad.compiler.ir.built_in_stages import is_built_in
from slangad.compiler.ir.nodes import Module
from slangad.compiler.runtime.arrays.signature import signatures
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
from slangad.compiler.runtime.pipeline.runnable import runnable_pipelines
from slangad.compiler.runtime.pipeline.stages import shapes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.task import PipelineTask
    from slangad.compiler.check.run.libraries import Libraries
    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.ir.pipelines import Pipeline
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.device.cpu_kernels import CpuModule
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline


def pipeline_functions(task: PipelineTask, libraries: Libraries) -> SubjectFunctions | Reason:
    """Return the functions of a pipeline, or why there are none."""
    maker = _Maker(task, libraries)
    sizes = maker.sizes()
    if isinstance(sizes, str):
        return Reason(CheckOutcome.NO_SHAPES, sizes)
    joined, apart = task.pipeline.joined, task.pipeline.apart
    f64 = maker.runner(joined, sizes, f64=True)
    assert f64 is not None  # noqa: S101  (else it is refused)
    stages = maker.stages(sizes)
    companions = Companions(
        stages,
        PipelineWatch(stages) if any(stage.watch for stage in stages.stages) else None,
        maker.on_device(sizes),
        stages,
        apart=maker.runner(apart, sizes, f64=True) if apart != joined else None,
    )
    return SubjectFunctions(f64, maker.runner(joined, sizes, f64=False), companions)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the functions of one pipeline."""

    task: PipelineTask
    libraries: Libraries

    def sizes(self) -> Prepared | str:
        """Return the sizes of the pipeline's values, or why there are none."""
        plan = self.task.plan
        runnable = self._runnable(self.task.pipeline.apart, self._points)
        return PipelineShapeSearch(runnable, self.stages, dict(plan.shapes), plan.ranges, plan.seed).find()

    def runner(self, pipeline: Pipeline, sizes: Prepared, *, f64: bool) -> PipelineRunner | None:
        """Return the pipeline as the runtime runs it; None if a kernel does not compile."""
        entries: dict[str, tuple[CpuModule, EntryPoint]] = {}
        points: list[EntryPoint] = []
        for name in _described(pipeline):
            held = self.libraries.holding(name, f64=f64)
            if held is None:
                return None
            entries |= {point.symbol: (held[0], point) for point in held[1]}
            points += held[1]
        runnable = self._runnable(pipeline, lambda name: [p for p in points if p.kernel == name])
        program = LoadedProgram(EmittedModule("", "", {}, (), {}, ()), entries)
        tables = self._tables(runnable, sizes)
        return PipelineRunner(runnable, program, F64 if f64 else F32, sizes, shapes_of(runnable, sizes), *tables)

    def on_device(self, sizes: Prepared) -> PipelineOnDevice | str | None:
        """Return the pipeline on the device, as users run it, or why the device does not take it."""
        pipeline = self.task.pipeline.joined
        held = self.libraries.on_device(*_described(pipeline))
        if held is None or isinstance(held, str):
            return held
        module, points = held
        runnable = self._runnable(pipeline, lambda name: [point for point in points if point.kernel == name])
        return PipelineOnDevice(runnable, module, sizes, shapes_of(runnable, sizes), *self._tables(runnable, sizes))

    def stages(self, sizes: Prepared) -> PipelineStages:
        """Return the pipeline stage by stage."""
        checked, launch = self.task.pipeline, self.libraries.launch
        runnable = self._runnable(checked.apart, self._points)
        shapes = shapes_of(runnable, sizes)
        stages = []
        for stage, shape in zip(checked.apart.stages, shapes.stages, strict=True):
            extents = Extents(shape.domain, shape.extents)
            if is_built_in(stage):
                stages.append(
                    StageRunner(ListRunner.of(stage.kernel, extents), None, None, checked.shown[stage.kernel])
                )
                continue
            frozen, watch, indices, *_ = self.task.twins[stage.kernel]
            stages.append(
                StageRunner(
                    launch(self.task.kernels[stage.kernel], extents),
                    launch(frozen, extents) if frozen else None,
                    launch(indices, extents) if indices else None,
                    checked.shown[stage.kernel],
                    launch(watch, extents) if watch else None,
                )
            )
        return PipelineStages(runnable, shapes, stages, *self._tables(runnable, sizes))

    def _tables(self, runnable: RunnablePipeline, sizes: Prepared) -> tuple[ColumnTable, ColumnTable]:
        shapes = shapes_of(runnable, sizes)
        results = {r.name: shapes.values[r.value] for r in runnable.pipeline.results}
        extents = Extents(sizes.domain, {**sizes.extents, **results})
        outside = self.task.pipeline.outside
        return launch_inputs(outside, extents), launch_results(outside, extents)

    def _runnable(self, pipeline: Pipeline, entries_of: Callable[[str], Sequence[EntryPoint]]) -> RunnablePipeline:
        kernels = tuple(self.task.kernels[name] for name in _described(pipeline))
        module = Module(pipeline.name, "", kernels=kernels, pipelines=(pipeline,))
        plans = {}
        for name, signature in signatures(module).items():
            points = entries_of(name)
            entries = {mode: tuple(p for p in points if p.mode is mode) for mode in Mode}
            plans[name] = KernelPlan(signature, entries, {})
        return runnable_pipelines(module, plans)[pipeline.name]

    def _points(self, name: str) -> Sequence[EntryPoint]:
        """Return the entry points of a kernel in float64."""
        held = self.libraries.holding(name, f64=True)
        return held[1] if held else ()


def _described(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the kernels of the module that a pipeline calls."""
    return tuple(dict.fromkeys(stage.kernel for stage in pipeline.stages if not is_built_in(stage)))
