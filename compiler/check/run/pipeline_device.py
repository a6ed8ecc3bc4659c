"""Whole pipelines on a device other than the CPU, run as users run them: rows of numbers go in and come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.run.pipeline import modes_of
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.runtime.arrays.array_keys import PREFIXES
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import Prepared
from slangad.compiler.runtime.pipeline.run import COTANGENT, Given, outputs_of, run_chain

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import Table
    from slangad.compiler.check.run.device import DeviceModule
    from slangad.compiler.runtime.arrays.array_keys import Slot
    from slangad.compiler.runtime.arrays.signature import Part
    from slangad.compiler.runtime.pipeline.runnable import Chain
    from slangad.compiler.runtime.pipeline.stages import Shapes

    Array = npt.NDArray[np.generic]

Role = ParameterRole


@dataclass(frozen=True, slots=True)
class ChainOnDevice:
    """A pipeline on a device, run by run."""

    chain: Chain
    module: DeviceModule
    prepared: Prepared
    shapes: Shapes
    inputs: Table
    results: Table

    @property
    def entries(self) -> Mapping[Mode, bool]:
        """The modes in which something flows from the parameters to the results."""
        return modes_of(self.chain)

    def values(self, rows: Floats) -> Floats:
        """The results."""
        return np.array([self._read(self._run(RunMode.FORWARD, row), "", self.results) for row in rows])

    def moved(self, rows: Floats, base: Floats) -> Floats:  # noqa: ARG002  (nothing is frozen as it is run)
        """The results at rows."""
        return self.values(rows)

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """The gradient of every input for one cotangent a row."""
        found = (self._run(RunMode.BACKWARD, row, seed) for row, seed in zip(rows, cotangents, strict=True))
        return np.array([self._read(one, PREFIXES[Role.GRADIENT], self.inputs) for one in found])

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """The results as forward mode computes them, and their tangents for one direction a row."""
        found = [self._run(RunMode.JVP, row, way) for row, way in zip(rows, directions, strict=True)]
        values = np.array([self._read(one, "", self.results) for one in found])
        return values, np.array([self._read(one, PREFIXES[Role.RESULT_TANGENT], self.results) for one in found])

    def _run(self, mode: RunMode, row: Floats, given: Floats | None = None) -> dict[str, Array]:
        arrays = dict(self._slots(Role.INPUT, row))
        cotangents = {}
        if mode is RunMode.JVP and given is not None:
            arrays |= self._slots(Role.TANGENT, given)
        if mode is RunMode.BACKWARD and given is not None:
            cotangents = dict(self._cotangents(given))
        prepared = Prepared(self.prepared.domain, self.prepared.extents, arrays)
        whole = Given(prepared, self.shapes, cotangents)
        return run_chain(self.module.device, self.module.program, self.chain, mode, whole)

    def _slots(self, role: ParameterRole, row: Floats) -> dict[Slot, Array]:
        """What is given for parameters, as arrays of their types and shapes."""
        return {
            (role, value.name, part.path): _shaped(row, place, self.shapes.values[value.name], part)
            for value in self.chain.signature.parameters
            for part in value.parts
            if (place := self.inputs.stretches.get((value.name, part.path))) is not None
            and (part.differentiable or role is Role.INPUT)
        }

    def _cotangents(self, row: Floats) -> dict[str, Array]:
        return {
            f"{COTANGENT}{part.key}": _shaped(
                row, self.results.stretches[value.name, part.path], self.shapes.values[name], part
            )
            for value, name in outputs_of(self.chain)
            for part in value.parts
            if part.differentiable
        }

    def _read(self, arrays: Mapping[str, Array], prefix: str, table: Table) -> Floats:
        """What came out, by columns."""
        found = np.zeros(len(table.columns))
        for (name, path), (start, end) in table.stretches.items():
            array = arrays.get(f"{prefix}{'.'.join((name, *map(str, path)))}")
            if array is not None:
                found[start:end] = array.astype(np.float64).reshape(-1)
        return found


def _shaped(row: Floats, place: tuple[int, int], shape: tuple[int, ...], part: Part) -> Array:
    with np.errstate(all="ignore"):
        return row[place[0] : place[1]].reshape((*shape, *part.shape)).astype(part.dtype)
