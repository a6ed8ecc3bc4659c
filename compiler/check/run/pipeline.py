"""Run pipelines on the CPU as functions of rows of numbers: values, gradients and tangents.

The plan of the runtime runs: its buffers, the order of its launches, gradient buffers to which several stages add. The
interface is that of ``thread.ThreadRunner``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.budget import budget
from slangad.compiler.check.run.row_device import RowBuffer, RowDevice, padded
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.lang.execution.bins import tile_lists
from slangad.compiler.runtime.pipeline.flow import flow_of
from slangad.compiler.runtime.pipeline.resident import Resident
from slangad.compiler.runtime.pipeline.run import outputs_of
from slangad.compiler.runtime.pipeline.steps import HostWork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.run.row_device import LoadedProgram
    from slangad.compiler.check.run.thread import Precision
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import ArrayPart, Path
    from slangad.compiler.runtime.device.model import DeviceBuffer
    from slangad.compiler.runtime.pipeline.flow import GradientFlow, StageFlow, Use
    from slangad.compiler.runtime.pipeline.run_kernel import Run
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.pipeline.stages import Shapes
    from slangad.compiler.runtime.pipeline.steps import Planned
    from slangad.compiler.runtime.pipeline.tile_lists import ListBuffers


Role = ParameterRole


def roots_of(runnable: RunnablePipeline) -> tuple[str, ...]:
    """Return the parameters that get a gradient."""
    return tuple(
        v.name for v in runnable.signature.parameters if v.differentiable and v.memory is not Memory.OUT_TENSOR
    )


def modes_of(runnable: RunnablePipeline) -> dict[Mode, bool]:
    """Return the modes in which the parameters affect the results."""
    return {Mode.FORWARD: True} | {mode: True for mode in (Mode.BACKWARD, Mode.JVP) if _flows(runnable, mode)}


def _flows(runnable: RunnablePipeline, mode: Mode) -> bool:
    flow = flow_of(runnable, roots_of(runnable), mode)
    return any(flow.last[value] in flow.active for _, value in outputs_of(runnable))


@dataclass(frozen=True)
class PipelineRunner:
    """A pipeline in one build, launch by launch.

    Attributes:
        prepared: Its domain and the shapes of its tensors, without arrays.
        shapes: The shapes of all values.
        inputs: The columns of inputs.
        results: The columns of results.
    """

    runnable: RunnablePipeline
    program: LoadedProgram
    precision: Precision
    prepared: Prepared
    shapes: Shapes
    inputs: ColumnTable
    results: ColumnTable

    @property
    def entries(self) -> Mapping[Mode, bool]:
        """The modes in which the parameters affect the results."""
        return modes_of(self.runnable)

    def values(self, rows: Floats) -> Floats:
        """Return the results."""
        return np.concatenate([batch.forward() for batch in self._batches(rows)])

    def moved(self, rows: Floats, base: Floats) -> Floats:  # noqa: ARG002  (nothing is frozen as it is run)
        """Return the results at rows."""
        return self.values(rows)

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """Return the gradient of every input for one cotangent a row."""
        parts = list(self._batches(rows, cotangents))
        return np.concatenate([batch.backward(batch.directions) for batch in parts])

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results as forward mode computes them, and their tangents for one direction a row."""
        runs = [batch.jvp(batch.directions) for batch in self._batches(rows, directions)]
        return np.concatenate([values for values, _ in runs]), np.concatenate([moved for _, moved in runs])

    def _batches(self, rows: Floats, directions: Floats | None = None) -> Iterator[_Runs]:
        step = max(1, tol.SCALARS_AT_ONCE // (16 * (len(self.inputs.columns) + len(self.results.columns)) + 64))
        for part in budget().parts(max(1, len(rows)), step, (self.runnable.pipeline.name, self.precision)):
            yield _Runs(self, rows[part], rows[part] if directions is None else directions[part])


class _RowResident(Resident):
    """The runtime's buffers of a pipeline. Every buffer has one row for each run."""

    textures: Mapping[tuple[str, Path], Floats]
    texture_tangents: Mapping[tuple[str, Path], Floats]

    def _run(self, stage: StageFlow, *, tangents: bool = False) -> Run:
        fresh = (stage.number, tangents) not in self.runs
        run = super()._run(stage, tangents=tangents)
        if fresh:
            for use in stage.uses:
                if use.value.memory is Memory.TEXTURE2D:
                    self._bind_texture(run, use, tangents=tangents)
        return run

    def _list_work(self, lists: ListBuffers) -> Iterator[Planned]:
        sources, targets = lists.sources, lists.targets

        def run() -> None:
            lower, upper, *depths = (_array(buffer) for buffer in sources)
            made = tile_lists(lower, upper, depths[0] if depths else None, lists.tiles, lists.capacity)
            for buffer, array in zip(targets, (made.start, made.count, made.order), strict=True):
                _set(buffer, array.reshape(len(lower), -1))

        yield HostWork(run)

    def _bind_texture(self, run: Run, use: Use, *, tangents: bool) -> None:
        inputs = {Role.INPUT: self.textures} | ({Role.TANGENT: self.texture_tangents} if tangents else {})
        for role, texels in inputs.items():
            for part in use.value.parts:
                padded_texels = padded(texels[use.version, part.path], part.shape)
                buffer = self.device.buffer(np.dtype("f4"), padded_texels.shape[1])
                _set(buffer, padded_texels)
                run.textures[role, use.value.name, part.path] = buffer


class _Runs:
    """Some runs of a pipeline."""

    def __init__(self, runner: PipelineRunner, rows: Floats, directions: Floats) -> None:
        self.runner, self.directions, self._rows = runner, directions, rows
        self._device = RowDevice(len(rows), runner.precision)
        runnable = runner.runnable
        self._resident = _RowResident(
            self._device, runner.program, runnable, runner.prepared, runner.shapes, roots_of(runnable)
        )
        self._resident.textures = {place: rows[:, start:end] for place, (start, end) in runner.inputs.stretches.items()}
        for place, buffer in self._resident.values.items():
            if place in runner.inputs.stretches:
                start, end = runner.inputs.stretches[place]
                _set(buffer, rows[:, start:end])

    def forward(self) -> Floats:
        """Return the results."""
        flow = self._resident.flow(Mode.BACKWARD)
        self._device.run([*self._resident.forward(flow)])
        return self._read(flow, self._resident.values)

    def backward(self, cotangents: Floats) -> Floats:
        """Return the gradients."""
        resident, table = self._resident, self.runner.inputs
        flow = resident.flow(Mode.BACKWARD)
        planned = [*resident.forward(flow)]
        for part, version, (start, end) in self._outputs(flow):
            if version in flow.active and part.differentiable:
                resident.seed(version, part, None)
                _set(resident.seeds[version, part.path], cotangents[:, start:end])
        self._device.run([*planned, *resident.backward(flow)])
        values = np.zeros((len(self._rows), len(table.columns)))
        for place, (start, end) in table.stretches.items():
            if place in resident.gradients and place[0] in resident.roots:
                values[:, start:end] = _array(resident.gradients[place])[:, : end - start]
        return values

    def jvp(self, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results and their tangents."""
        resident, table = self._resident, self.runner.inputs
        flow = resident.flow(Mode.JVP)
        for value in (v for v in self.runner.runnable.signature.parameters if v.name in resident.roots):
            for part in (p for p in value.parts if p.differentiable):
                start, end = table.stretches[value.name, part.path]
                resident.upload_tangent(value.name, part, None)
                _set(resident.tangents[value.name, part.path], directions[:, start:end])
        resident.texture_tangents = {place: directions[:, a:b] for place, (a, b) in table.stretches.items()}
        self._device.run([*resident.jvp(flow)])
        return self._read(flow, resident.values), self._read(flow, resident.tangents)

    def _outputs(self, flow: GradientFlow) -> Iterator[tuple[ArrayPart, str, tuple[int, int]]]:
        """Yield the parts of all results with their versions and columns."""
        for value, name in outputs_of(self.runner.runnable):
            for part in value.parts:
                yield part, flow.last[name], self.runner.results.stretches[value.name, part.path]

    def _read(self, flow: GradientFlow, where: Mapping[tuple[str, Path], DeviceBuffer]) -> Floats:
        values = np.zeros((len(self._rows), len(self.runner.results.columns)))
        for part, version, (start, end) in self._outputs(flow):
            if (version, part.path) in where:
                values[:, start:end] = _array(where[version, part.path])[:, : end - start]
        return values


def _set(buffer: DeviceBuffer, rows: Floats) -> None:
    _array(buffer)[:, : rows.shape[1]] = rows


def _array(buffer: DeviceBuffer) -> npt.NDArray[np.generic]:
    assert isinstance(buffer, RowBuffer)  # noqa: S101  (of our own device)
    return buffer.array
