"""Run the built-in stage ``sa.bin`` for many samples: one row of numbers each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.model.launch_columns import launch_inputs, launch_results
from slangad.compiler.check.model.samples import FullLists
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.built_in_stages import BUILT_IN, ORDER
from slangad.compiler.lang.execution.bins import TileLists, tile_lists

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.ir.nodes import Kernel


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
        lists = self._lists(rows)
        columns = [one.reshape(len(rows), -1) for one in (lists.start, lists.count, lists.order)]
        return np.concatenate(columns, axis=1).astype(np.float64)

    def inside(self, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return True for each row whose lists have room."""
        return np.asarray(self._lists(rows).needed <= self._capacity)

    def full_lists(self, rows: Floats, shown: str) -> FullLists | None:
        """Return the lists without room at some of the rows; None if all have room. ``shown`` is the stage's name."""
        needed = self._lists(rows).needed
        over = needed[needed > self._capacity]
        return FullLists(shown, len(over), int(over.max()), self._capacity) if len(over) else None

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

    @property
    def _capacity(self) -> int:
        return self.extents.shapes[ORDER][0]

    def _lists(self, rows: Floats) -> TileLists:
        lower, upper, *depths = (rows[:, start:end] for start, end in self.inputs.stretches.values())
        return tile_lists(lower, upper, depths[0] if depths else None, self.extents.domain, self._capacity)
