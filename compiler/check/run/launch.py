"""Run launches of a kernel as a function of rows of numbers: values, gradients and tangents.

One row has everything that a launch reads. All entry points of a mode run for it, as the runtime launches them. The
interface is that of ``thread.ThreadRunner``, so code that compares derivatives treats both the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.budget import budget
from slangad.compiler.check.model.effort import work_of
from slangad.compiler.check.run.row_device import padded
from slangad.compiler.check.twins.declared import STATE, TAPE, new_state
from slangad.compiler.check.twins.group_accesses import ACCESSES, buffer_size, race_in
from slangad.compiler.check.twins.index_ranges import REACH, axes_of
from slangad.compiler.emit.model import EntryPoint, Mode, ParameterRole, ThreadWork
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.signature import DTYPES
from slangad.compiler.runtime.device.cpu_rows import all_threads, first_threads, launch_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.run.thread import Precision
    from slangad.compiler.check.twins.group_accesses import GroupRace
    from slangad.compiler.emit.model import EntryParameter
    from slangad.compiler.ir.nodes import Kernel, SharedMemory
    from slangad.compiler.runtime.device.cpu_kernels import CpuModule

    Array = npt.NDArray[np.generic]
    Slot = tuple[ParameterRole, str, tuple[str | int, ...]]
    Columns = Mapping[ParameterRole, Floats]

Role = ParameterRole
_OF_INPUTS: Final = (Role.INPUT, Role.TANGENT)


@dataclass(frozen=True, slots=True)
class Sums:
    """The split of sums over threads, and the value of accumulated gradients before a launch."""

    parts: int = 2
    copies: int = 2
    start: float = 0.0


@dataclass(frozen=True, slots=True)
class Held:
    """Inputs of launches that are the same in all of them. Their arrays are filled once.

    Attributes:
        kept: The columns that differ, in ascending order: rows of inputs have only these.
        sample: The inputs of all columns where they do not differ.
    """

    kept: npt.NDArray[np.int64]
    sample: Floats
    arrays: dict[tuple[tuple[int, int], type[np.generic]], Array] = field(default_factory=dict)

    def filled(self, rows: Floats, place: tuple[int, int], dtype: type[np.generic]) -> Array:
        """Return a range of the columns of all inputs, for rows of those that differ. The next call changes it."""
        array = self.arrays.get((place, dtype))
        if array is None or len(array) < len(rows):
            array = np.repeat(self.sample[None, slice(*place)].astype(dtype), len(rows), axis=0)
            self.arrays[place, dtype] = array
        return self._with(rows, place, array[: len(rows)])

    def along(self, directions: Floats, place: tuple[int, int], dtype: type[np.generic]) -> Array:
        """Return a range of the columns of directions, which are 0 along the inputs that are the same."""
        return self._with(directions, place, np.zeros((len(directions), place[1] - place[0]), dtype))

    def _with(self, rows: Floats, place: tuple[int, int], array: Array) -> Array:
        first, last = np.searchsorted(self.kept, place)
        array[:, self.kept[first:last] - place[0]] = rows[:, first:last]
        return array


def order_differences(first: Floats, second: Floats, least: float = 0.0) -> Bools:
    """Return True for numbers of two orders of threads that differ by more than rounding, or where one is no number.

    Args:
        first: Numbers in one order, a row for each launch.
        second: The same in the other order.
        least: A difference that is allowed whatever their size.
    """
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(first), abs(first), 0.0).max(axis=1, initial=0.0, keepdims=True)
        close = abs(first - second) <= tol.IN_ANOTHER_ORDER * size + least
    same: Bools = close | (first == second) | (np.isnan(first) & np.isnan(second))
    return np.asarray(~same)


@dataclass(frozen=True, slots=True)
class LaunchRunner:
    """The entry points of one kernel in one build, launch by launch.

    Attributes:
        entries: The entry points by mode, in launch order.
        kernel: The kernel of the columns.
        extents: The size of a launch.
        inputs: The columns of inputs.
        results: The columns of results.
        sums: The split of sums over threads.
        alone: The only thread that runs; None if all run.
        held: Inputs that are the same in all launches; None if rows have all inputs.
        backwards: Threads that compute together in their group run in the opposite order.
        shared: The memory of a group whose accesses are recorded.
    """

    module: CpuModule
    precision: Precision
    entries: Mapping[Mode, tuple[EntryPoint, ...]]
    kernel: Kernel
    extents: Extents
    inputs: ColumnTable
    results: ColumnTable
    sums: Sums = field(default_factory=Sums)
    alone: int | None = None
    held: Held | None = None
    backwards: bool = False
    shared: tuple[SharedMemory, ...] = ()

    @property
    def threads(self) -> int:
        """The number of threads of a launch."""
        return math.prod(self.extents.domain)

    def values(self, rows: Floats, before: Floats | None = None) -> Floats:
        """Return the results without derivatives. ``before`` is what written tensors hold, zeros unless given."""
        held: Columns = {} if before is None else {Role.RESULT: before}
        return self._run(Mode.FORWARD, {Role.INPUT: rows, **held}, Role.RESULT)

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Return the results at rows, with frozen parts as they are at ``base``. The kernel is a twin that freezes."""
        both = np.stack([base, rows], axis=1).reshape(-1, rows.shape[1])
        return self.values(both)[1::2]

    def depends_on_order(self, rows: Floats) -> Bools:
        """Return True for each row whose results are others if the threads of groups run in the opposite order."""
        first, second = (replace(self, backwards=backwards).values(rows) for backwards in (False, True))
        return np.asarray(order_differences(first, second).any(axis=1))

    def races(self, rows: Floats) -> Iterator[GroupRace]:
        """Yield a race of threads at each row that has one. The kernel records accesses to memory of groups."""
        for part in self._parts(Mode.FORWARD, {Role.INPUT: rows}):
            for recorded in part.books[ACCESSES]:
                race = race_in(recorded, self.shared)
                if race is not None:
                    yield race

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """Return the gradient of every input for one cotangent a row; columns without gradient are zero."""
        return self._run(Mode.BACKWARD, {Role.INPUT: rows, Role.COTANGENT: cotangents}, Role.GRADIENT)

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results as forward mode computes them, and their tangents for one direction a row."""
        inputs = {Role.INPUT: rows, Role.TANGENT: directions}
        both = [(part.read(Role.RESULT), part.read(Role.RESULT_TANGENT)) for part in self._parts(Mode.JVP, inputs)]
        none = np.zeros((0, len(self.results.columns)))
        values, moved = (np.concatenate([none, *parts]) for parts in zip(*(both or [(none, none)]), strict=True))
        return values, moved

    def index_ranges(self, rows: Floats) -> npt.NDArray[np.int64]:
        """Return the smallest and the largest index of each axis, shape (rows, axes, 2). The kernel records indices."""
        parts = [part.index_ranges() for part in self._parts(Mode.FORWARD, {Role.INPUT: rows})]
        return np.concatenate(parts) if parts else np.zeros((0, len(axes_of(self.kernel)), 2), np.int64)

    def accesses(self, rows: Floats) -> int:
        """Return the number of indices that a launch uses. The kernel records indices."""
        return max((part.accesses() for part in self._parts(Mode.FORWARD, {Role.INPUT: rows})), default=0)

    @property
    def filtered(self) -> bool:
        """True if it samples textures."""
        return any(p.memory is Memory.TEXTURE2D for p in self.kernel.params)

    def full_lists(self, rows: Floats) -> None:
        """Return None: only pipelines have lists."""

    def work(self, rows: Floats) -> float:
        """Return the cost of one launch, in units of ``effort``. The kernel records indices."""
        return work_of(self.accesses(rows), self.kernel, self.extents)

    def inside(self, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row at which no index leads outside a tensor or an array. The kernel records indices."""
        parts = self._parts(Mode.FORWARD, {Role.INPUT: rows})
        return np.concatenate([np.zeros(0, np.bool_), *(part.inside() for part in parts)])

    def _run(self, mode: Mode, arrays: Columns, wanted: ParameterRole) -> Floats:
        some = slice(None) if self.held is None or wanted is not Role.GRADIENT else self.held.kept
        rows_of_parts = [part.read(wanted)[:, some] for part in self._parts(mode, arrays)]
        if not rows_of_parts:
            return np.zeros((0, len((self.inputs if wanted is Role.GRADIENT else self.results).columns)))
        return np.concatenate(rows_of_parts)

    def _parts(self, mode: Mode, arrays: Columns) -> Iterator[_Launches]:
        """Run launches for as many rows as fit in memory at a time, and yield them."""
        rows = arrays[Role.INPUT]
        least = 1 if self.held is None or mode is Mode.BACKWARD else tol.LARGE_ROWS
        step = 2 * max(least, tol.SCALARS_AT_ONCE // (8 * (len(self.inputs.columns) + len(self.results.columns)) + 64))
        for part in budget().parts(len(rows), step, (self.kernel.name, self.precision, mode, self.extents.domain)):
            batch = _Launches(self, mode, {role: array[part] for role, array in arrays.items()})
            batch.launch()
            yield batch


@dataclass(slots=True)
class _Launches:
    """Some launches of one mode. Every array has one row for each."""

    runner: LaunchRunner
    mode: Mode
    columns: Columns
    arrays: dict[Slot, Array] = field(default_factory=dict)
    books: dict[str, Array] = field(default_factory=dict)
    left: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def count(self) -> int:
        return len(self.columns[Role.INPUT])

    def launch(self) -> None:
        """Run every entry point of the mode for all rows."""
        self.books = self._books()
        self.left = np.zeros(self.count, np.bool_)
        watched = REACH in self.books
        with np.errstate(all="ignore"):
            for entry in self.runner.entries[self.mode]:
                buffers: dict[str, Array] = dict(self.books)
                uniforms: dict[str, object] = {}
                for parameter in entry.parameters:
                    if parameter.access == "value":
                        uniforms[parameter.name] = self._value(parameter, entry)
                    else:
                        buffers[parameter.name] = self._array(parameter)
                left = np.zeros(self.count, np.bool_) if watched else None
                threads, backwards = self._threads(entry), self.runner.backwards
                launch_rows(self.runner.module, entry.symbol, threads, buffers, uniforms, left, backwards=backwards)
                if left is not None:
                    self.left |= left

    def _books(self) -> dict[str, Array]:
        """Return the buffers of twins (see ``index_ranges`` and ``declared``)."""
        known = self.runner.module.block().names
        books: dict[str, Array] = {}
        if REACH in known:
            axes = max(1, len(axes_of(self.runner.kernel)))
            books[REACH] = np.tile(np.array([tol.INDEX_UNSET, -tol.INDEX_UNSET], np.int32), (self.count, 1 + axes))
            books[REACH][:, 0] = 0
        if self.runner.shared:
            books[ACCESSES] = np.zeros((self.count, buffer_size(self.runner.shared)), np.int32)
        if TAPE in known:
            tape = np.zeros((1, tol.TAPE_SIZE), self.runner.precision.dtype("float"))
            books[TAPE] = np.broadcast_to(tape, (self.count, tol.TAPE_SIZE))
            state = new_state(self.count)
            state[:, 1] = np.arange(self.count) % 2
            books[STATE] = state
        return books

    def index_ranges(self) -> npt.NDArray[np.int64]:
        """Return the recorded ranges of indices."""
        return self.books[REACH][:, 2:].reshape(self.count, -1, 2).astype(np.int64)

    def inside(self) -> npt.NDArray[np.bool_]:
        """Return True for each launch whose indices stay inside tensors, arrays and vectors."""
        return within(self.index_ranges(), self.runner.kernel, self.runner.extents) & ~self.left

    def accesses(self) -> int:
        """Return the number of recorded indices in the launch with the most."""
        return int(self.books[REACH][:, 0].max(initial=0))

    def _value(self, parameter: EntryParameter, entry: EntryPoint) -> object:
        runner = self.runner
        match parameter.role:
            case Role.DOMAIN if entry.work is ThreadWork.SCALARS:
                return self._scalars(parameter.parameter, parameter.path)
            case Role.DOMAIN:
                return _plain(runner.extents.domain)
            case Role.EXTENTS:
                return _plain(runner.extents.shapes[parameter.parameter])
            case Role.PARTS:
                return runner.sums.parts
            case Role.COPIES:
                return runner.sums.copies
            case _:
                return 0

    def _scalars(self, name: str, path: tuple[str | int, ...]) -> int:
        """Return the number of scalars of a tensor or texture, or of a part of a parameter."""
        stretches = {**self.runner.results.stretches, **self.runner.inputs.stretches}.items()
        return sum(end - start for (of, at), (start, end) in stretches if of == name and at[: len(path)] == path)

    def _threads(self, entry: EntryPoint) -> npt.NDArray[np.uint32]:
        """Return the threads with work to do: the position of the group, and of the thread in it."""
        if entry.work in (ThreadWork.TOTALS, ThreadWork.STRIDED):
            return first_threads(entry.totals_groups if entry.work is ThreadWork.TOTALS else self.runner.sums.parts)
        threads = all_threads(self._counts(entry), entry.group_size)
        return threads if self.runner.alone is None else threads[self.runner.alone :][:1]

    def _counts(self, entry: EntryPoint) -> tuple[int, int, int]:
        """Return the number of threads along x, y and z."""
        domain = self.runner.extents.domain
        if entry.work is ThreadWork.SCALARS:
            return self._scalars(entry.parameters[-1].parameter, entry.parameters[-1].path), 1, 1
        if entry.dims == 1:
            return math.prod(domain), 1, 1
        return (*reversed(domain), 1)[:3]  # type: ignore[return-value]  # of two or three extents

    def _array(self, parameter: EntryParameter) -> Array:
        slot = self._slot(parameter)
        if slot not in self.arrays:
            self.arrays[slot] = self._filled(parameter, slot)
        return self.arrays[slot]

    def _slot(self, parameter: EntryParameter) -> Slot:
        if parameter.role is Role.PARTIALS:
            return Role.PARTIALS, "", (parameter.scalar.name,)
        role = (
            Role.RESULT_TANGENT if parameter.access == "change" and parameter.role is Role.TANGENT else parameter.role
        )
        unused = "" if parameter.is_used else " unused"
        return role, f"{parameter.parameter}{unused}", parameter.path

    def _filled(self, parameter: EntryParameter, slot: Slot) -> Array:
        """Return an array with a row for each launch: its input, or a mark for unwritten values, or zeros."""
        dtype = self.runner.precision.dtype(parameter.scalar.name)
        role, name, path = slot
        start = self._start(role, name, path, dtype)
        if start is not None and parameter.access == "texture":
            start = padded(np.asarray(start, np.float64), parameter.shape)
        if start is not None:
            shared = self.runner.held is not None and role is Role.INPUT and start.dtype == dtype
            return start if shared else np.array(start, dtype, order="C")
        if role is Role.PARTIALS:
            mark = 77 if dtype is np.uint32 else np.nan
            return np.full((self.count, max(1, parameter.components * self.runner.sums.parts)), mark, dtype)
        if not parameter.is_used:
            return np.zeros((self.count, 1), dtype)
        if parameter.is_total:
            total = np.dtype(DTYPES[parameter.total_on(host=True)])
            return np.zeros((self.count, self.runner.sums.copies * self._scalars(name, path)), total)
        size = self._width(role, name, path)
        fresh = parameter.access == "write"
        mark = 77 if not issubclass(dtype, np.floating) else np.nan if fresh else 0.0
        if role is Role.GRADIENT and not fresh:
            mark = self.runner.sums.start
        return np.full((self.count, size), mark if fresh or role is Role.GRADIENT else 0, dtype)

    def _start(
        self, role: ParameterRole, name: str, path: tuple[str | int, ...], dtype: type[np.generic]
    ) -> Array | None:
        """Return the input of a buffer, if there is one."""
        inputs, results = self.runner.inputs.stretches, self.runner.results.stretches
        in_place = (name, path) in inputs and self._is_written(name)
        if role in _OF_INPUTS:
            return self._inputs(role, inputs[name, path], dtype)
        if role in (Role.COTANGENT, Role.ADJOINT):
            start, end = results[name, path]
            return self.columns[Role.COTANGENT][:, start:end]
        if in_place and role in (Role.RESULT, Role.RESULT_TANGENT):
            return self._inputs(Role.INPUT if role is Role.RESULT else Role.TANGENT, inputs[name, path], dtype)
        if role is Role.RESULT and role in self.columns and self._is_written(name):
            return self.columns[role][:, slice(*results[name, path])]
        return None

    def _inputs(self, role: ParameterRole, place: tuple[int, int], dtype: type[np.generic]) -> Array:
        """Return a range of the columns of inputs or directions."""
        held, rows = self.runner.held, self.columns[role]
        if held is None:
            return rows[:, slice(*place)]
        return held.filled(rows, place, dtype) if role is Role.INPUT else held.along(rows, place, dtype)

    def _is_written(self, name: str) -> bool:
        return any(p.name == name and p.memory.is_written for p in self.runner.kernel.params)

    def _width(self, role: ParameterRole, name: str, path: tuple[str | int, ...]) -> int:
        stretches = (self.runner.inputs if role is Role.GRADIENT else self.runner.results).stretches
        start, end = stretches[name, path]
        return max(1, end - start)

    def read(self, wanted: ParameterRole) -> Floats:
        """Return the written values by column; NaN where a tape was too short.

        Where nothing was written, they are what was there before, or zeros.
        """
        table = self.runner.inputs if wanted is Role.GRADIENT else self.runner.results
        before = self.columns.get(Role.RESULT) if wanted is Role.RESULT else None
        values = np.zeros((self.count, len(table.columns))) if before is None else before.copy()
        for (role, name, path), array in self.arrays.items():
            key_role = Role.GRADIENT if role is Role.ADJOINT else role
            if key_role is wanted and (name, path) in table.stretches:
                start, end = table.stretches[name, path]
                values[:, start:end] = array[:, : end - start]
        if STATE in self.books:
            values[self.books[STATE][:, 2] != 0] = np.nan
        return values


def _plain(shape: tuple[int, ...]) -> int | tuple[int, ...]:
    return shape[0] if len(shape) == 1 else shape


def within(reached: npt.NDArray[np.int64], kernel: Kernel, extents: Extents) -> Bools:
    """Return the launches that keep all their indices inside; ``reached`` has the records of the twin."""
    axes = axes_of(kernel)
    sizes = np.array([extents.shapes[name][axis] for name, axis in axes], np.int64)
    unread = reached[:, :, 1] < reached[:, :, 0]
    inside = (reached[:, :, 0] >= 0) & (reached[:, :, 1] < sizes)
    return np.asarray((unread | inside).all(axis=1))
