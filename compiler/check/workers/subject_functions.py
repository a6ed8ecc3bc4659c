"""Prepare functions and kernels to run: a task's kernel in both precisions, with its companions.

A kernel runs thread by thread if no thread accesses another's memory, else launch by launch. A search for the size of a
launch comes first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.effort import timed_work
from slangad.compiler.check.model.launch_columns import Extents
from slangad.compiler.check.model.outcomes import CheckOutcome, Reason
from slangad.compiler.check.model.task import PipelineTask
from slangad.compiler.check.run.companions import Companions, Launches, SubjectFunctions
from slangad.compiler.check.sampling.samples import draw_random
from slangad.compiler.check.sampling.shapes import ShapeSearch
from slangad.compiler.check.workers.pipeline_functions import pipeline_functions
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.check.model.task import SubjectTask
    from slangad.compiler.check.run.launch import LaunchRunner
    from slangad.compiler.check.run.libraries import Libraries
    from slangad.compiler.check.run.thread import ThreadRunner
    from slangad.compiler.ir.nodes import Kernel

    Shape = tuple[int, ...]

_NO_TWINS: Final = "Slang doesn't take the twins of it that a check needs"


def functions_of(task: SubjectTask | PipelineTask, libraries: Libraries) -> SubjectFunctions | Reason:
    """Return the functions of a task, or why there are none."""
    if isinstance(task, PipelineTask):
        return pipeline_functions(task, libraries)
    if task.twins.indices is not None:
        return _launched(task, task.twins.indices, libraries)
    frozen, watch, _, racing, waving = task.twins
    if frozen is not None and not libraries.holding(frozen.name, f64=True):
        return Reason(CheckOutcome.NO_TWIN, _NO_TWINS)
    f64 = libraries.thread(task.kernel)
    companions = Companions(
        libraries.thread(frozen) if frozen else None,
        libraries.thread(watch) if watch else None,
        libraries.thread_on_device(task.kernel),
        launches=_launches(task, libraries),
        arrays=f64,
        racing=libraries.thread(racing) if racing else None,
        waving=libraries.thread(waving) if waving else None,
    )
    return SubjectFunctions(f64, libraries.thread(task.kernel, f64=False) if task.in_f32 else None, companions)


def _launched(task: SubjectTask, indices: Kernel, libraries: Libraries) -> SubjectFunctions | Reason:
    """Return the functions of a kernel that is checked launch by launch."""
    if not all(libraries.holding(kernel.name, f64=True) for kernel in task.twins if kernel is not None):
        return Reason(CheckOutcome.NO_TWIN, _NO_TWINS)
    extents = _search(task, indices, libraries).find()
    if isinstance(extents, str):
        return Reason(CheckOutcome.NO_SHAPES, extents)
    extents = _small(task, indices, libraries, extents)
    frozen, watch, *_ = task.twins
    companions = Companions(
        libraries.launch(frozen, extents) if frozen else None,
        libraries.launch(watch, extents) if watch else None,
        libraries.launch_on_device(task.kernel, extents),
        libraries.launch(indices, extents),
        _launches(task, libraries, extents),
    )
    f32 = libraries.launch(task.kernel, extents, f64=False) if task.in_f32 else None
    return SubjectFunctions(libraries.launch(task.kernel, extents), f32, companions)


def _small(task: SubjectTask, indices: Kernel, libraries: Libraries, extents: Extents) -> Extents:
    """Return the size of a launch of fewer threads where threads take long, and none knows its number."""
    plan, dims = task.plan, task.kernel.dims
    memories = {p.name: p.memory for p in task.kernel.params}
    declared = any(memories.get(name) is Memory.EACH or memories[name].is_written for name, _ in plan.shapes)
    if extents.domain != tol.DOMAINS[dims] or declared or task.kernel.in_step or plan.numbered:
        return extents
    runner = libraries.launch(task.kernel, extents)
    columns = runner.inputs.columns
    if len(columns) > tol.LARGE_LAUNCH:
        return extents
    rows = draw_random(columns, plan.ranges, tol.SHAPE_SAMPLES_AGAIN, plan.seed, task.kernel.name, plan.integers)
    rows = rows[libraries.launch(indices, extents).inside(rows)]
    if timed_work(lambda r, _: runner.values(r), rows) < tol.WORK_LONG:
        return extents
    small = replace(_search(task, indices, libraries), domain=tol.SMALL_DOMAINS[dims]).find()
    return extents if isinstance(small, str) else small


def _search(task: SubjectTask, indices: Kernel, libraries: Libraries) -> ShapeSearch:
    """Return the search for the shapes of a kernel's tensors."""
    plan = task.plan

    def twin(extents: Extents) -> LaunchRunner:
        return libraries.launch(indices, extents)

    return ShapeSearch(task.kernel, twin, task.asked, dict(plan.shapes), plan.ranges, plan.seed, integers=plan.integers)


def _launches(task: SubjectTask, libraries: Libraries, small: Extents | None = None) -> Launches | None:
    """Return the kernel as it is launched, at any size; ``small`` is a size that fits, where threads share tensors."""
    kernel, indices = task.launch, task.twins.indices
    if kernel is None or not libraries.holding(kernel.name, f64=True):
        return None

    def extents(domain: Shape) -> Extents | str:
        if small is None or indices is None:
            return Extents(domain, {})
        return _search(task, indices, libraries).at(domain, small)

    def f32(size: Extents) -> RowFunction | None:
        device = libraries.launch_on_device(kernel, size)
        if device is None and task.in_f32:
            return libraries.launch(kernel, size, f64=False)
        return None if isinstance(device, str) else device

    return Launches(
        extents,
        lambda size: libraries.launch(kernel, size),
        f32,
        lambda size: libraries.launch_by_runtime(kernel, size) if task.in_f32 else None,
        libraries.thread(task.kernel) if small is None else None,
        _thread_f32(task, libraries) if small is None else None,
        kernel.dims,
        task.plan.integers,
        None if indices is None or small is None else lambda size: libraries.launch(indices, size),
        kernel.group_size if kernel.in_step else (),
        None
        if indices is None or not task.shared
        else lambda size: replace(libraries.launch(indices, size), shared=task.shared),
    )


def _thread_f32(task: SubjectTask, libraries: Libraries) -> ThreadRunner | None:
    """Return one thread in float32, where that runs."""
    device = libraries.thread_on_device(task.kernel)
    if device is None and task.in_f32:
        return libraries.thread(task.kernel, f64=False)
    return None if isinstance(device, str) else device
