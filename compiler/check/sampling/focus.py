"""Narrow a function of many inputs: hold most of them, and examine few of the others one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import ColumnTable
from slangad.compiler.check.run.companions import SubjectFunctions
from slangad.compiler.check.run.launch import Held, LaunchRunner
from slangad.compiler.check.run.on_device import LaunchOnDevice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.emit.model import Mode


@dataclass(frozen=True, slots=True)
class FocusedFunction:
    """A function of which fewer inputs and results are examined; it computes the same."""

    function: RowFunction
    inputs: ColumnTable
    results: ColumnTable

    @property
    def entries(self) -> Mapping[Mode, object]:
        """Return its modes."""
        return self.function.entries

    def values(self, rows: Floats) -> Floats:
        """Return the results of the function alone."""
        return self.function.values(rows)

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Return the results at rows, with frozen parts as they are at others."""
        return self.function.moved(rows, base)

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """Return the gradient of every input for one cotangent a row."""
        return self.function.gradients(rows, cotangents)

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results that forward mode computes, and their tangents for one direction a row."""
        return self.function.tangents(rows, directions)


def focused(function: RowFunction, inputs: Iterable[int], results: Iterable[int]) -> FocusedFunction:
    """Return the function with these columns only."""
    return FocusedFunction(function, _only(function.inputs, set(inputs)), _only(function.results, set(results)))


def _only(table: ColumnTable, kept: set[int]) -> ColumnTable:
    columns = tuple(
        column if k in kept else replace(column, differentiable=False) for k, column in enumerate(table.columns)
    )
    return ColumnTable(columns, table.stretches)


@dataclass(frozen=True, slots=True)
class HeldInputs:
    """A launch of which only some inputs differ from sample to sample. Rows have these inputs.

    Attributes:
        function: The launch; on the CPU it holds the other inputs itself.
        held: What holds them.
        inputs: The columns of the inputs that differ.
    """

    function: LaunchRunner | LaunchOnDevice
    held: Held
    inputs: ColumnTable

    @property
    def results(self) -> ColumnTable:
        """Return the columns of its results."""
        return self.function.results

    @property
    def entries(self) -> Mapping[Mode, object]:
        """Return its modes."""
        return self.function.entries

    def values(self, rows: Floats) -> Floats:
        """Return the results of the function alone."""
        return self.function.values(self._inputs(rows))

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Return the results at rows, with frozen parts as they are at others."""
        return self.function.moved(self._inputs(rows), self._inputs(base))

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """Return the gradient of every input that differs, for one cotangent a row."""
        gradients = self.function.gradients(self._inputs(rows), cotangents)
        return gradients if self._is_focused else gradients[:, self.held.kept]

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results that forward mode computes, and their tangents for one direction a row."""
        return self.function.tangents(self._inputs(rows), self._inputs(directions, np.zeros_like(self.held.sample)))

    @property
    def _is_focused(self) -> bool:
        return isinstance(self.function, LaunchRunner)

    def _inputs(self, rows: Floats, others: Floats | None = None) -> Floats:
        """Return rows as the function takes them: with all inputs if it does not hold them itself."""
        if self._is_focused:
            return rows
        every = np.repeat((self.held.sample if others is None else others)[None], len(rows), axis=0)
        every[:, self.held.kept] = rows
        return every


@dataclass(frozen=True, slots=True)
class Hold:
    """Holds the inputs of launches at a sample, except for some; see ``HeldInputs``."""

    held: Held
    inputs: ColumnTable

    def functions(self, functions: SubjectFunctions) -> SubjectFunctions:
        """Return the functions of a launch with fewer inputs."""
        companions = functions.companions
        device, indices = companions.device, companions.indices
        assert isinstance(indices, LaunchRunner)  # noqa: S101  (it is a launch)
        held = replace(
            companions,
            frozen=self._held(companions.frozen),
            watch=self._held(companions.watch),
            device=device if isinstance(device, str) else self._held(device),
            indices=replace(indices, held=self.held),
        )
        f64 = self._held(functions.f64)
        assert f64 is not None  # noqa: S101  (it is there)
        return SubjectFunctions(f64, self._held(functions.f32), held)

    def _held(self, function: object) -> HeldInputs | None:
        if function is None:
            return None
        assert isinstance(function, (LaunchRunner, LaunchOnDevice))  # noqa: S101  (companions of a launch are launches)
        if isinstance(function, LaunchRunner):
            function = replace(function, held=self.held)
        return HeldInputs(function, self.held, self.inputs)


def hold_most(table: ColumnTable, first: Sequence[int], sample: Floats, seed: int) -> Hold:
    """Return what holds most inputs.

    Args:
        table: The columns of all inputs.
        first: Columns to keep rather than others, the most important ones first.
        sample: Where the others are held.
        seed: The seed of the choice among the others.
    """
    rng = np.random.default_rng([seed, 20])
    most = max(2, min(tol.LARGE_BUFFER, tol.LARGE_LAUNCH // max(1, len(table.stretches))))
    wanted = np.array(first, np.int64)
    kept: set[int] = set()
    for start, end in table.stretches.values():
        if end - start > most and not table.columns[start].floating:
            continue  # integers may have to differ, so all of them are held
        some = wanted[(wanted >= start) & (wanted < end)][:most]
        others = rng.permutation(np.setdiff1d(np.arange(start, end), some))[: most - len(some)]
        kept |= {*some.tolist(), *others.tolist()}
    columns = np.array(sorted(kept), np.int64)
    return Hold(Held(columns, sample), kept_table(table, columns))


def kept_table(table: ColumnTable, kept: Indices) -> ColumnTable:
    """Return some columns of a table, in ascending order."""
    stretches = {
        buffer: (int(np.searchsorted(kept, start)), int(np.searchsorted(kept, end)))
        for buffer, (start, end) in table.stretches.items()
    }
    return ColumnTable(tuple(table.columns[k] for k in kept), stretches)
