"""Whole launches on a device other than the CPU, run as users run them: rows of numbers go in and come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.twins.index_ranges import rank_of
from slangad.compiler.emit.model import EntryPoint, Mode, ParameterRole
from slangad.compiler.ir.nodes import Memory, Module
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import Prepared
from slangad.compiler.runtime.arrays.signature import signatures
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan, run_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import Table
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.run.device import DeviceModule
    from slangad.compiler.ir.nodes import Kernel
    from slangad.compiler.runtime.arrays.array_keys import Slot


Role = ParameterRole


@dataclass(frozen=True, slots=True)
class DeviceLaunches:
    """The entry points of one kernel on a device, launch by launch; ``start`` is what gradients hold before."""

    module: DeviceModule
    entries: Mapping[Mode, tuple[EntryPoint, ...]]
    kernel: Kernel
    extents: Extents
    inputs: Table
    results: Table
    start: float = 0.0

    def values(self, rows: Floats) -> Floats:
        """The results, of the launch alone."""
        return np.array([self._read(self._run(RunMode.FORWARD, {Role.INPUT: row}), "", self.results) for row in rows])

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Twins that freeze run on the CPU."""
        raise NotImplementedError

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """The gradient of every input for one cotangent a row; columns without gradient are zero."""
        given = ({Role.INPUT: row, Role.COTANGENT: seed} for row, seed in zip(rows, cotangents, strict=True))
        return np.array([self._read(self._run(RunMode.BACKWARD, one), "grad.", self.inputs) for one in given])

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """The results as forward mode computes them, and their tangents for one direction a row."""
        given = ({Role.INPUT: row, Role.TANGENT: way} for row, way in zip(rows, directions, strict=True))
        found = [self._run(RunMode.JVP, one) for one in given]
        return (
            np.array([self._read(arrays, "", self.results) for arrays in found]),
            np.array([self._read(arrays, "jvp.", self.results) for arrays in found]),
        )

    def _run(self, mode: RunMode, given: Mapping[ParameterRole, Floats]) -> dict[str, npt.NDArray[np.generic]]:
        plan = KernelPlan(signatures(Module("", "", kernels=(self.kernel,)))[self.kernel.name], self.entries, {})
        arrays: dict[Slot, npt.NDArray[np.generic]] = {}
        for role, row in given.items():
            table = self.results if role is Role.COTANGENT else self.inputs
            for value in plan.signature.values:
                for part in value.parts:
                    known = (value.name, part.path) in table.stretches
                    if not known or not (part.differentiable or role is Role.INPUT):
                        continue
                    start, end = table.stretches[value.name, part.path]
                    shape = (*self.extents.of(value.name, value.memory), *part.shape)
                    with np.errstate(all="ignore"):
                        arrays[role, value.name, part.path] = row[start:end].reshape(shape).astype(part.dtype)
        if mode is RunMode.BACKWARD and self.start:
            arrays |= self._held(plan)
        shapes = {p.name: self.extents.shapes[p.name] for p in self.kernel.params if rank_of(p.type)}
        prepared = Prepared(self.extents.domain, shapes, arrays)
        return run_kernel(self.module.device, self.module.program, plan, mode, prepared)

    def _held(self, plan: KernelPlan) -> dict[Slot, npt.NDArray[np.generic]]:
        """Gradients that hold something already."""
        added = (Memory.PARAM, Memory.TENSOR, Memory.TEXTURE2D)
        return {
            (Role.GRADIENT, value.name, part.path): np.full(
                (*self.extents.of(value.name, value.memory), *part.shape), self.start, part.dtype
            )
            for value in plan.signature.parameters
            for part in value.parts
            if value.memory in added and part.differentiable
        }

    def _read(self, arrays: Mapping[str, npt.NDArray[np.generic]], prefix: str, table: Table) -> Floats:
        """What came out, by columns; what gradients held before is taken away again."""
        found = np.zeros(len(table.columns))
        memories = {p.name: p.memory for p in self.kernel.params}
        for (name, path), (start, end) in table.stretches.items():
            array = arrays.get(f"{prefix}{'.'.join((name, *map(str, path)))}")
            if array is not None:
                found[start:end] = array.astype(np.float64).reshape(-1)
                if prefix == "grad." and memories[name] in (Memory.PARAM, Memory.TENSOR, Memory.TEXTURE2D):
                    found[start:end] -= self.start
        return found
