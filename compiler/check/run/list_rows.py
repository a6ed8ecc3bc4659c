"""Run the built-in stage ``sa.bin`` for many samples: one row of numbers each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangad.compiler.check.model.launch_columns import launch_inputs, launch_results
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.built_in_stages import BUILT_IN, ORDER
from slangad.compiler.lang.execution.bins import TileLists, tile_lists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.ir.nodes import Kernel


def list_rows(sources: Sequence[npt.NDArray[Any]], tiles: tuple[int, ...], capacity: int) -> list[TileLists]:
    """Return the lists of each row. Those that are too long lose items.

    Args:
        sources: Rows of lower, upper and, if there are depths, depth.
        tiles: The grid.
        capacity: The length of the list.
    """
    rows = zip(*sources, strict=True)
    return [tile_lists(low, high, depths[0] if depths else None, tiles, capacity) for low, high, *depths in rows]


def as_columns(lists: Sequence[TileLists]) -> tuple[Floats, Floats, Floats]:
    """Return start, count and order, with one row for each of the lists."""
    rows = zip(*((one.start.reshape(-1), one.count.reshape(-1), one.order) for one in lists), strict=True)
    start, count, order = (np.array(column, np.float64) for column in rows)
    return start, count, order


@dataclass(frozen=True, slots=True)
class ListRunner:
    """A stage ``sa.bin`` with the interface of ``launch.LaunchRunner``, as far as stages need it."""

    kernel: Kernel
    extents: Extents
    inputs: ColumnTable
    results: ColumnTable

    @classmethod
    def of(cls, name: str, extents: Extents) -> ListRunner:
        """Return the stage of a name in ``BUILT_IN``."""
        kernel = BUILT_IN[name]
        return cls(kernel, extents, launch_inputs(kernel, extents), launch_results(kernel, extents))

    @property
    def entries(self) -> Mapping[Mode, bool]:
        """The modes: values only."""
        return {Mode.FORWARD: True}

    def values(self, rows: Floats) -> Floats:
        """Return the results."""
        return np.concatenate(as_columns(self._lists(rows)), axis=1)

    def inside(self, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row whose lists have room."""
        return np.array([lists.needed <= len(lists.order) for lists in self._lists(rows)], bool)

    def moved(self, rows: Floats, base: Floats) -> Floats:  # noqa: ARG002  (nothing is frozen)
        """Return the results at rows."""
        return self.values(rows)

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:  # noqa: ARG002  (it has none)
        """Return zeros."""
        return np.zeros_like(rows)

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002  (it has none)
        """Return the results, and zeros."""
        values = self.values(rows)
        return values, np.zeros_like(values)

    def _lists(self, rows: Floats) -> list[TileLists]:
        sources = [rows[:, start:end] for start, end in self.inputs.stretches.values()]
        return list_rows(sources, self.extents.domain, self.extents.shapes[ORDER][0])
