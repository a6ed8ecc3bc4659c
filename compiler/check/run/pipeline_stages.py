"""Run a pipeline stage by stage, by launches of single kernels without the runtime.

It computes the results with frozen parts, and reports if indices stay inside. It gives the inputs of each stage, so
that a stage can be examined separately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.model.columns import Column, ColumnTable
from slangad.compiler.check.model.effort import work_of
from slangad.compiler.check.run.list_rows import ListRunner
from slangad.compiler.check.run.pipeline import roots_of
from slangad.compiler.check.run.thread import F32
from slangad.compiler.check.twins.index_ranges import axes_of
from slangad.compiler.check.twins.loop_bounds import EXCEEDED
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.types import FLOATING
from slangad.compiler.runtime.pipeline.flow import GradientFlow, flow_of
from slangad.compiler.runtime.pipeline.run import outputs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.samples import FullLists
    from slangad.compiler.check.run.launch import LaunchRunner
    from slangad.compiler.runtime.arrays.signature import Path
    from slangad.compiler.runtime.pipeline.flow import StageFlow
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.pipeline.stages import Shapes

    Values = dict[tuple[str, "Path"], Floats]


@dataclass(frozen=True, slots=True)
class StageRunner:
    """A stage's kernel at the size it has in the pipeline.

    Attributes:
        plain: The kernel itself, in all its modes.
        frozen: The twin that freezes, where a part is declared to carry no gradient.
        indices: The twin that records indices, where it has tensors.
        shown: The user's name of it.
        watch: The twin that watches loops, where it has bounded ones.
    """

    plain: LaunchRunner | ListRunner
    frozen: LaunchRunner | None
    indices: LaunchRunner | None
    shown: str
    watch: LaunchRunner | None = None

    @property
    def oracle(self) -> LaunchRunner | ListRunner:
        """The kernel that gives the stage's values."""
        return self.frozen or self.plain

    def inside(self, taken: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row at which no index leads outside, and lists have room."""
        if isinstance(self.plain, ListRunner):
            return self.plain.inside(taken)
        return np.ones(len(taken), bool) if self.indices is None else self.indices.inside(taken)


@dataclass(frozen=True, slots=True)
class PipelineStages:
    """A pipeline, stage by stage."""

    runnable: RunnablePipeline
    shapes: Shapes
    stages: Sequence[StageRunner]
    inputs: ColumnTable
    results: ColumnTable

    @property
    def entries(self) -> Mapping[Mode, bool]:
        """The modes: values only."""
        return {Mode.FORWARD: True}

    @property
    def flow(self) -> GradientFlow:
        """The versions of its values."""
        return flow_of(self.runnable, roots_of(self.runnable), Mode.BACKWARD)

    def values(self, rows: Floats) -> Floats:
        """Return the results."""
        return self.moved(rows, rows)

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Return the results at rows, with frozen parts as they are at ``base``."""
        both = np.stack([base, rows], axis=1).reshape(-1, rows.shape[1])
        values = self._start(both)
        flow = self.flow
        for stage, runner in zip(flow.stages, self.stages, strict=True):
            taken = self._taken(stage, runner.oracle, values, pairs=True)
            self._run(stage, runner.oracle, taken, values)
        return self._read(flow, values)[1::2]

    def taken(self, rows: Floats) -> Iterator[tuple[StageFlow, StageRunner, Floats]]:
        """Yield each stage with its inputs at rows."""
        values = self._start(rows)
        for stage, runner in zip(self.flow.stages, self.stages, strict=True):
            taken = self._taken(stage, runner.plain, values, pairs=False)
            yield stage, runner, taken
            self._run(stage, runner.plain, taken, values)

    def inside(self, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row at which no index leads outside a tensor or an array, and all lists have room."""
        good = np.ones(len(rows), bool)
        for _, runner, taken in self.taken(rows):
            good &= runner.inside(taken)
        return good

    def full_lists(self, rows: Floats) -> FullLists | None:
        """Return the lists of the first stage whose lists are longer than their capacity at some rows, or None."""
        for _, runner, taken in self.taken(rows):
            if isinstance(runner.plain, ListRunner) and (full := runner.plain.full_lists(taken, runner.shown)):
                return full
        return None

    @property
    def filtered(self) -> bool:
        """True if a stage samples textures."""
        return any(stage.indices is not None and stage.indices.filtered for stage in self.stages)

    def work(self, rows: Floats) -> float:
        """Return the cost of one run of all stages, in units of ``effort``."""
        total = 0.0
        for _, runner, taken in self.taken(rows):
            accesses = runner.indices.accesses(taken) if runner.indices is not None else 0
            total += work_of(accesses, runner.plain.kernel, runner.plain.extents)
        return total

    def most(self, rows: Floats) -> Iterator[tuple[StageFlow, str, int, int]]:
        """Yield the largest index into each axis of the tensors of stages."""
        for stage, runner, taken in self.taken(rows):
            if runner.indices is not None:
                reached = runner.indices.index_ranges(taken)
                for number, (name, axis) in enumerate(axes_of(runner.indices.kernel)):
                    yield stage, name, axis, int(reached[:, number, 1].max(initial=-1))

    def _start(self, rows: Floats) -> Values:
        return {place: rows[:, start:end] for place, (start, end) in self.inputs.stretches.items()}

    def _taken(self, stage: StageFlow, runner: LaunchRunner | ListRunner, values: Values, *, pairs: bool) -> Floats:
        """Return the rows with which a stage's kernel is launched. Parameters without gradient are frozen."""
        count = len(next(iter(values.values())))
        taken = np.zeros((count, len(runner.inputs.columns)))
        for use in stage.uses:
            for part in use.value.parts:
                place = runner.inputs.stretches.get((use.value.name, part.path))
                if place is None or (use.version, part.path) not in values:
                    continue
                rows = values[use.version, part.path]
                if pairs and not part.differentiable and part.scalar.name in FLOATING:
                    rows = np.repeat(rows[0::2], 2, axis=0)
                taken[:, place[0] : place[1]] = rows
        for name, fixed in stage.fixed.items():
            at = 0
            for (owner, _), (start, end) in runner.inputs.stretches.items():
                if owner == name:
                    width = F32.dtype(runner.inputs.columns[start].scalar)  # as it is launched
                    taken[:, start:end] = np.array(fixed.scalars[at : at + end - start], width)
                    at += end - start
        return taken

    def _run(self, stage: StageFlow, runner: LaunchRunner | ListRunner, taken: Floats, values: Values) -> None:
        """Compute a stage's results. What earlier stages wrote to its tensors stays, where it doesn't write."""
        places = [
            ((use.version, part.path), (use.made or use.version, part.path), runner.results.stretches[name, part.path])
            for use in (*stage.makes, *(use for use in stage.uses if use.made))
            for name, part in ((use.value.name, part) for part in use.value.parts)
        ]
        before = np.zeros((len(taken), len(runner.results.columns)))
        for earlier, _, (start, end) in places:
            before[:, start:end] = values.get(earlier, 0.0)
        if isinstance(runner, ListRunner) or not before.any():
            made = runner.values(taken)
        else:
            made = runner.values(taken, before)
        for _, later, (start, end) in places:
            values[later] = made[:, start:end]

    def _read(self, flow: GradientFlow, values: Values) -> Floats:
        count = len(next(iter(values.values())))
        result = np.zeros((count, len(self.results.columns)))
        for value, name in outputs_of(self.runnable):
            for part in value.parts:
                start, end = self.results.stretches[value.name, part.path]
                result[:, start:end] = values[flow.last[name], part.path]
        return result


@dataclass(frozen=True, slots=True)
class PipelineWatch:
    """The twins of stages that watch loops: one result for each stage with bounded loops."""

    oracle: PipelineStages

    @property
    def results(self) -> ColumnTable:
        """A column for each stage with bounded loops."""
        watched = [stage.shown for stage in self.oracle.stages if stage.watch is not None]
        return ColumnTable(tuple(Column(f"{EXCEEDED} by {name}", "int", differentiable=False) for name in watched), {})

    def values(self, rows: Floats) -> Floats:
        """Return a number other than 0 where a loop would run past its bound."""
        exceeded = [self._exceeded(runner.watch, taken) for _, runner, taken in self.oracle.taken(rows) if runner.watch]
        return np.stack(exceeded, axis=1)

    def _exceeded(self, watch: LaunchRunner, taken: Floats) -> Floats:
        columns = [k for k, column in enumerate(watch.results.columns) if column.path.startswith(EXCEEDED)]
        return np.asarray(watch.values(taken)[:, columns].max(axis=1, initial=0.0))
