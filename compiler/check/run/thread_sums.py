"""Run each thread of a launch separately, and add up its results and gradients in float64."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.run.launch import LaunchRunner
    from slangad.compiler.check.run.thread import ThreadRunner


_NUMBER: Final = re.compile(r"thread_(id|count)_(\d)")


@dataclass(frozen=True, slots=True)
class ThreadSums:
    """The threads of launches of one kernel. ``thread`` runs one of them."""

    thread: ThreadRunner
    launch: LaunchRunner

    @property
    def count(self) -> int:
        """The number of threads of a launch."""
        return int(np.prod(self.launch.extents.domain))

    def values(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the results of launches, and sums of magnitudes."""
        values = self.thread.values(self._apart(rows)).reshape(len(rows), self.count, -1)
        values_of_rows, size = (np.zeros((len(rows), len(self.launch.results.columns))) for _ in range(2))
        memories = {result.name: result.memory for result in self.launch.kernel.results}
        for (name, path), (start, end) in self.launch.results.stretches.items():
            first, last = self.thread.results.stretches[name, path]
            part = values[:, :, first:last]
            if memories[name] is Memory.EACH:
                values_of_rows[:, start:end] = part.reshape(len(rows), -1)
                size[:, start:end] = _largest(values_of_rows[:, start:end])
                continue
            share = 1.0 / self.count if memories[name] is Memory.MEAN else 1.0
            values_of_rows[:, start:end] = part.sum(axis=1) * share
            size[:, start:end] = np.abs(part).sum(axis=1) * share
        return values_of_rows, size

    def gradients(self, rows: Floats, cotangents: Floats) -> tuple[Floats, Floats]:
        """Return the gradients of launches, and sums of magnitudes."""
        values = self.thread.gradients(self._apart(rows), self._seeds(cotangents)).reshape(len(rows), self.count, -1)
        totals, size = (np.zeros(rows.shape) for _ in range(2))
        for (name, path), (start, end) in self.launch.inputs.stretches.items():
            first, last = self.thread.inputs.stretches[name, path]
            part = values[:, :, first:last]
            if self._is_each(name):
                totals[:, start:end] = part.reshape(len(rows), -1)
                size[:, start:end] = _largest(totals[:, start:end])
            else:
                totals[:, start:end], size[:, start:end] = part.sum(axis=1), np.abs(part).sum(axis=1)
        return totals, size

    def inside(self, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each launch in which no index of a thread leads outside an array."""
        inside = self.thread.inside(self._apart(rows)).reshape(len(rows), self.count)
        return np.asarray(inside.all(axis=1))

    def finite(self, rows: Floats) -> Floats:
        """Return rows in which valid threads replace those that leave arrays or compute no finite number."""
        fixed, apart = rows.copy(), self._apart(rows)
        good = self.thread.inside(apart)
        with np.errstate(all="ignore"):
            good[good] = np.isfinite(self.thread.values(apart[good])).all(axis=1)
        good = good.reshape(len(rows), self.count)
        for row in np.flatnonzero(good.any(axis=1) & ~good.all(axis=1)):
            known = np.flatnonzero(good[row])
            chosen = np.where(good[row], np.arange(self.count), known[np.arange(self.count) % len(known)])
            for (name, _), (start, end) in self.launch.inputs.stretches.items():
                if self._is_each(name):
                    fixed[row, start:end] = rows[row, start:end].reshape(self.count, -1)[chosen].reshape(-1)
        return fixed

    def _is_each(self, name: str) -> bool:
        return any(p.name == name and p.memory is Memory.EACH for p in self.launch.kernel.params)

    def _apart(self, rows: Floats) -> Floats:
        """Return one row for each thread."""
        table = self.thread.inputs
        apart = np.zeros((len(rows), self.count, len(table.columns)))
        for (name, path), (first, last) in table.stretches.items():
            number = _NUMBER.fullmatch(name)
            if (name, path) in self.launch.inputs.stretches:
                start, end = self.launch.inputs.stretches[name, path]
                values = rows[:, start:end]
                apart[:, :, first:last] = (
                    values.reshape(len(rows), self.count, -1) if self._is_each(name) else values[:, None, :]
                )
            elif number:
                domain = self.launch.extents.domain
                axis = int(number[2])
                places = np.unravel_index(np.arange(self.count), domain)[axis]
                apart[:, :, first] = places if number[1] == "id" else domain[axis]
        return apart.reshape(-1, apart.shape[2])

    def _seeds(self, cotangents: Floats) -> Floats:
        """Return one cotangent for each thread."""
        table: ColumnTable = self.thread.results
        seeds = np.zeros((len(cotangents), self.count, len(table.columns)))
        memories = {result.name: result.memory for result in self.launch.kernel.results}
        for (name, path), (start, end) in self.launch.results.stretches.items():
            first, last = table.stretches[name, path]
            values = cotangents[:, start:end]
            if memories[name] is Memory.EACH:
                seeds[:, :, first:last] = values.reshape(len(cotangents), self.count, -1)
            else:
                share = 1.0 / self.count if memories[name] is Memory.MEAN else 1.0
                seeds[:, :, first:last] = values[:, None, :] * share
        return seeds.reshape(-1, seeds.shape[2])


def _largest(values: Floats) -> Floats:
    """Return the largest magnitude in each row."""
    return np.asarray(np.abs(values).max(axis=1, keepdims=True) + tol.UNDERFLOW)
