"""Run harness kernels as functions of rows of numbers: values, gradients and tangents.

One row is one sample (and one direction or cotangent); a launch computes all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.budget import budget
from slangad.compiler.check.twins import slang_frozen
from slangad.compiler.check.twins.declared import STATE, TAPE, new_state
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.runtime.device.cpu_rows import launch_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.emit.model import EntryParameter, EntryPoint
    from slangad.compiler.runtime.device.cpu_kernels import CpuModule


_INTEGERS: Final = {"int": np.int32, "uint": np.uint32}


@dataclass(frozen=True, slots=True)
class Precision:
    """The types of ``float`` and ``half`` in a build. The float64 twin has double for both."""

    f64: bool

    def dtype(self, scalar: str) -> type[np.generic]:
        """Return the numpy type of a buffer's scalars."""
        if scalar in _INTEGERS:
            return _INTEGERS[scalar]
        if self.f64 or scalar == "double":
            return np.float64
        return np.float16 if scalar == "half" else np.float32


F64: Final = Precision(f64=True)
F32: Final = Precision(f64=False)


class KernelModule(Protocol):
    """Built kernels, on the CPU or on a device."""

    def launch(
        self,
        entry: str,
        thread_count: tuple[int, int, int],
        buffers: Mapping[str, npt.NDArray[np.generic]],
        uniforms: Mapping[str, object],
        *,
        workers: int | None = None,
    ) -> None:
        """Run an entry point; the buffers that it may write are updated in place."""


@dataclass(frozen=True, slots=True)
class SeparateModules:
    """The modules of a kernel with separately built entry points, by entry point."""

    modules: Mapping[str, KernelModule]

    def launch(
        self,
        entry: str,
        thread_count: tuple[int, int, int],
        buffers: Mapping[str, npt.NDArray[np.generic]],
        uniforms: Mapping[str, object],
        *,
        workers: int | None = None,
    ) -> None:
        """Run an entry point."""
        self.modules[entry].launch(entry, thread_count, buffers, uniforms, workers=workers)


@dataclass(frozen=True, slots=True)
class ThreadRunner:
    """The entry points of one kernel in one build.

    Attributes:
        entries: By mode; those that don't exist or don't compile are missing.
        inputs: The columns of the kernel's inputs.
        results: Those of its results.
    """

    module: KernelModule
    precision: Precision
    entries: Mapping[Mode, EntryPoint]
    inputs: ColumnTable
    results: ColumnTable

    def values(self, rows: Floats) -> Floats:
        """Return the results without derivatives."""
        return self._run(Mode.FORWARD, {ParameterRole.INPUT: rows}, ParameterRole.RESULT, self.results)

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Return the results at rows, with frozen parts as they are at ``base``. The kernel is a twin that freezes."""
        return self.values(np.hstack([base, rows]))

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """Return the gradient of every input for one cotangent a row; columns without gradient are zero."""
        arrays = {ParameterRole.INPUT: rows, ParameterRole.COTANGENT: cotangents}
        return self._run(Mode.BACKWARD, arrays, ParameterRole.GRADIENT, self.inputs)

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results as forward mode computes them, and their tangents for one direction a row."""
        parts = [
            self._written(Mode.JVP, {ParameterRole.INPUT: rows[part], ParameterRole.TANGENT: directions[part]})
            for part in budget().parts(max(1, len(rows)), tol.ROWS_AT_ONCE, self._timed(Mode.JVP))
        ]
        values, moved = (
            np.concatenate([part[role] for part in parts])
            for role in (ParameterRole.RESULT, ParameterRole.RESULT_TANGENT)
        )
        return values, moved

    def inside(self, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row at which no index leads outside an array, vector or matrix. CPU only."""
        entry = self.entries[Mode.FORWARD]
        within = [
            self._left(entry, rows[start : start + tol.ROWS_AT_ONCE]) for start in range(0, len(rows), tol.ROWS_AT_ONCE)
        ]
        return ~np.concatenate(within) if within else np.zeros(0, np.bool_)

    def _left(self, entry: EntryPoint, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row at which an index leads outside. Each row is a launch of one thread."""
        left = np.zeros(len(rows), np.bool_)
        self._row_by_row(entry, rows, self._books(), left)
        return left

    def _too_long(self, entry: EntryPoint, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row at which a twin freezes more than its tape holds. CPU only."""
        books = self._books()
        state = new_state(len(rows))
        self._row_by_row(entry, rows, {**books, STATE: state})
        return np.asarray(state[:, 2] > 0)

    def _row_by_row(
        self,
        entry: EntryPoint,
        rows: Floats,
        books: Mapping[str, npt.NDArray[np.generic]],
        left: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Launch a thread for each row. A buffer of twins in ``books`` has one row for all of them, or one for each."""
        count = len(rows)
        module = self.module.modules[entry.name] if isinstance(self.module, SeparateModules) else self.module
        buffers = {
            name: array.reshape(count, -1) for name, array in self._bound(entry, {ParameterRole.INPUT: rows}).items()
        }
        books = {name: np.broadcast_to(book, (count, book.shape[-1])) for name, book in books.items()}
        uniforms = dict.fromkeys((p.name for p in entry.parameters if p.role is ParameterRole.DOMAIN), 1)
        first = np.zeros((1, 6), np.uint32)
        launch_rows(cast("CpuModule", module), entry.name, first, {**buffers, **books}, uniforms, left)

    def _timed(self, mode: Mode) -> tuple[str, Precision]:
        """Return the key by which the time of a mode is known."""
        return self.entries[mode].symbol, self.precision

    def _run(
        self, mode: Mode, inputs: dict[ParameterRole, Floats], wanted: ParameterRole, table: ColumnTable
    ) -> Floats:
        rows = inputs[ParameterRole.INPUT]
        parts = [
            self._written(mode, {role: array[part] for role, array in inputs.items()})[wanted]
            for part in budget().parts(len(rows), tol.ROWS_AT_ONCE, self._timed(mode))
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(table.columns)))

    def _written(self, mode: Mode, arrays: dict[ParameterRole, Floats]) -> dict[ParameterRole, Floats]:
        entry = self.entries[mode]
        count = len(arrays[ParameterRole.INPUT])
        buffers = self._bound(entry, arrays)
        uniforms = dict.fromkeys((p.name for p in entry.parameters if p.role is ParameterRole.DOMAIN), count)
        books = self._books() if mode is Mode.FORWARD else {}
        self.module.launch(entry.name, (count, 1, 1), {**buffers, **books}, uniforms, workers=1)
        written = [p for p in entry.parameters if p.access == "write"]
        result = {}
        for role in {p.role for p in written} | _always(mode):
            table = self.inputs if role is ParameterRole.GRADIENT else self.results
            array = np.zeros((count, len(table.columns)))
            for parameter in written:
                if parameter.role is role:
                    start, end = table.stretches[parameter.parameter, parameter.path]
                    array[:, start:end] = buffers[parameter.name].reshape(count, -1)
            result[role] = array
        if STATE in books and books[STATE][2]:
            result[ParameterRole.RESULT][self._too_long(entry, arrays[ParameterRole.INPUT])] = np.nan
        return result

    def _bound(self, entry: EntryPoint, arrays: Mapping[ParameterRole, Floats]) -> dict[str, npt.NDArray[np.generic]]:
        """Return the buffers of an entry point, filled where it reads them."""
        count = len(arrays[ParameterRole.INPUT])
        return {
            p.name: self._pack(p, arrays[p.role]) if p.access == "read" else self._empty(p, count)
            for p in entry.parameters
            if p.role is not ParameterRole.DOMAIN
        }

    def _books(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the buffers of twins that freeze (see ``declared``)."""
        known = {parameter["name"] for parameter in getattr(self.module, "globals_", ())}
        if slang_frozen.TAPE in known:
            tape = np.full(tol.TAPE_BYTES + tol.TAPE_SPARE, 0xFF, np.uint8)
            return {slang_frozen.TAPE: tape, slang_frozen.STATE: new_state()}
        if TAPE not in known:
            return {}
        return {TAPE: np.zeros(tol.TAPE_SIZE, self.precision.dtype("float")), STATE: new_state()}

    def _pack(self, parameter: EntryParameter, array: Floats) -> npt.NDArray[np.generic]:
        inside = parameter.role in (ParameterRole.INPUT, ParameterRole.TANGENT)
        start, end = (self.inputs if inside else self.results).stretches[parameter.parameter, parameter.path]
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(array[:, start:end], self.precision.dtype(parameter.scalar.name)).reshape(-1)

    def _empty(self, parameter: EntryParameter, count: int) -> npt.NDArray[np.generic]:
        """Return a buffer with marks that show unwritten values and unexpected additions."""
        dtype = self.precision.dtype(parameter.scalar.name)
        return np.full(count * parameter.components, np.nan if issubclass(dtype, np.floating) else 77, dtype)


def _always(mode: Mode) -> set[ParameterRole]:
    """Return the results that a mode has even where no buffer is written."""
    return {ParameterRole.RESULT, ParameterRole.RESULT_TANGENT} if mode is Mode.JVP else set()
