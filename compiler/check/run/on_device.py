"""Run kernels and pipelines on a device other than the CPU, as users run them: one row of numbers is one launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.run.pipeline import modes_of
from slangad.compiler.check.twins.index_ranges import rank_of
from slangad.compiler.emit.model import EntryPoint, Mode, ParameterRole
from slangad.compiler.ir.nodes import Memory, Module
from slangad.compiler.runtime.arrays.array_keys import PREFIXES
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import Prepared
from slangad.compiler.runtime.arrays.signature import signatures
from slangad.compiler.runtime.pipeline.run import COTANGENT, PipelineInputs, outputs_of, run_pipeline
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan, run_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.run.device import DeviceModule
    from slangad.compiler.ir.nodes import Kernel
    from slangad.compiler.runtime.arrays.array_keys import Slot
    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelValue
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.pipeline.stages import Shapes

    Array = npt.NDArray[np.generic]
    Arrays = Mapping[str, Array]

Role = ParameterRole


class _OnDevice:
    """The common part of runs of kernels and of pipelines."""

    __slots__ = ()
    inputs: ColumnTable
    results: ColumnTable

    def values(self, rows: Floats) -> Floats:
        """Return the results without derivatives."""
        return np.array([self._read(self._run(RunMode.FORWARD, row), Role.RESULT) for row in rows])

    def moved(self, rows: Floats, base: Floats) -> Floats:  # noqa: ARG002  (twins that freeze run on the CPU)
        """Return the results at rows."""
        return self.values(rows)

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """Return the gradient of every input for one cotangent a row; columns without gradient are zero."""
        runs = (self._run(RunMode.BACKWARD, row, seed) for row, seed in zip(rows, cotangents, strict=True))
        return np.array([self._read(arrays, Role.GRADIENT) for arrays in runs])

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results as forward mode computes them, and their tangents for one direction a row."""
        runs = [self._run(RunMode.JVP, row, direction) for row, direction in zip(rows, directions, strict=True)]
        values = np.array([self._read(arrays, Role.RESULT) for arrays in runs])
        return values, np.array([self._read(arrays, Role.RESULT_TANGENT) for arrays in runs])

    def _run(self, mode: RunMode, row: Floats, inputs: Floats | None = None) -> Arrays:
        """Return the output arrays of one run. ``inputs`` is a cotangent or a direction."""
        raise NotImplementedError

    def _shape(self, value: KernelValue) -> tuple[int, ...]:
        """Return the extents of a parameter, without those of its elements."""
        raise NotImplementedError

    def _slots(self, role: ParameterRole, row: Floats, values: Iterable[KernelValue]) -> dict[Slot, Array]:
        """Return a row of inputs or a direction as arrays of the types and shapes of parameters."""
        return {
            (role, value.name, part.path): _shaped(row, place, self._shape(value), part)
            for value in values
            for part in value.parts
            if (place := self._table(role).stretches.get((value.name, part.path))) is not None
            and (part.differentiable or role is Role.INPUT)
        }

    def _table(self, role: ParameterRole) -> ColumnTable:
        """Return the columns that belong to a role."""
        return self.inputs if role in (Role.INPUT, Role.TANGENT, Role.GRADIENT) else self.results

    def _read(self, arrays: Arrays, role: ParameterRole) -> Floats:
        """Return output arrays as columns."""
        table = self._table(role)
        values = np.zeros(len(table.columns))
        for (name, path), (start, end) in table.stretches.items():
            array = arrays.get(f"{PREFIXES.get(role, '')}{'.'.join((name, *map(str, path)))}")
            if array is not None:
                values[start:end] = array.astype(np.float64).reshape(-1)
        return values


@dataclass(frozen=True, slots=True)
class LaunchOnDevice(_OnDevice):
    """One kernel on a device, launch by launch. ``start`` is the value of the given gradients."""

    module: DeviceModule
    entries: Mapping[Mode, tuple[EntryPoint, ...]]
    kernel: Kernel
    extents: Extents
    inputs: ColumnTable
    results: ColumnTable
    start: float = 0.0

    def _run(self, mode: RunMode, row: Floats, inputs: Floats | None = None) -> Arrays:
        plan = KernelPlan(signatures(Module("", "", kernels=(self.kernel,)))[self.kernel.name], self.entries, {})
        values = plan.signature.values
        arrays = self._slots(Role.INPUT, row, values)
        if inputs is not None:
            arrays |= self._slots(Role.TANGENT if mode is RunMode.JVP else Role.COTANGENT, inputs, values)
        if mode is RunMode.BACKWARD and self.start:
            arrays |= self._held(plan)
        shapes = {p.name: self.extents.shapes[p.name] for p in self.kernel.params if rank_of(p.type)}
        prepared = Prepared(self.extents.domain, shapes, arrays)
        return run_kernel(self.module.device, self.module.program, plan, mode, prepared)

    def _shape(self, value: KernelValue) -> tuple[int, ...]:
        return self.extents.of(value.name, value.memory)

    def _held(self, plan: KernelPlan) -> dict[Slot, Array]:
        """Return gradients that hold ``start``, one for every parameter that has a gradient."""
        return {
            (Role.GRADIENT, value.name, part.path): np.full((*self._shape(value), *part.shape), self.start, part.dtype)
            for value in plan.signature.parameters
            for part in value.parts
            if value.memory is not Memory.OUT_TENSOR and part.differentiable
        }

    def _read(self, arrays: Arrays, role: ParameterRole) -> Floats:
        """Return output arrays as columns, without what gradients held before."""
        values = _OnDevice._read(self, arrays, role)
        if role is Role.GRADIENT and self.start:
            for (name, path), (start, end) in self.inputs.stretches.items():
                if f"{PREFIXES[role]}{'.'.join((name, *map(str, path)))}" in arrays:
                    values[start:end] -= self.start
        return values


@dataclass(frozen=True, slots=True)
class PipelineOnDevice(_OnDevice):
    """A pipeline on a device, run by run."""

    runnable: RunnablePipeline
    module: DeviceModule
    prepared: Prepared
    shapes: Shapes
    inputs: ColumnTable
    results: ColumnTable

    @property
    def entries(self) -> Mapping[Mode, bool]:
        """The modes in which the parameters affect the results."""
        return modes_of(self.runnable)

    def _run(self, mode: RunMode, row: Floats, inputs: Floats | None = None) -> Arrays:
        parameters = self.runnable.signature.parameters
        arrays = self._slots(Role.INPUT, row, parameters)
        if mode is RunMode.JVP and inputs is not None:
            arrays |= self._slots(Role.TANGENT, inputs, parameters)
        cotangents = self._cotangents(inputs) if mode is RunMode.BACKWARD and inputs is not None else {}
        prepared = Prepared(self.prepared.domain, self.prepared.extents, arrays)
        bound = PipelineInputs(prepared, self.shapes, cotangents)
        return run_pipeline(self.module.device, self.module.program, self.runnable, mode, bound)

    def _shape(self, value: KernelValue) -> tuple[int, ...]:
        return self.shapes.values[value.name]

    def _cotangents(self, row: Floats) -> dict[str, Array]:
        return {
            f"{COTANGENT}{part.key}": _shaped(
                row, self.results.stretches[value.name, part.path], self.shapes.values[name], part
            )
            for value, name in outputs_of(self.runnable)
            for part in value.parts
            if part.differentiable
        }


def _shaped(row: Floats, place: tuple[int, int], shape: tuple[int, ...], part: ArrayPart) -> Array:
    with np.errstate(all="ignore"):
        return row[place[0] : place[1]].reshape((*shape, *part.shape)).astype(part.dtype)
