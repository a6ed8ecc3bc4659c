"""Compute the derivative of a function by one mode: a linear function of cotangents or of directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.model.arrays import stretches_of_rows
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.functions import RowFunction


MODES: Final = {Leg.REVERSE: Mode.BACKWARD, Leg.FORWARD: Mode.JVP}
"""The modes whose Jacobians are compared with the reference, by leg."""


@dataclass(frozen=True, slots=True)
class ModeDerivative:
    """Derivatives of ``function`` by reverse or forward mode.

    Weights are cotangents in reverse mode, directions in forward mode.
    """

    function: RowFunction
    mode: Leg

    @property
    def is_reverse(self) -> bool:
        """Return True for reverse mode."""
        return self.mode is Leg.REVERSE

    @property
    def weighted(self) -> ColumnTable:
        """Return the columns that have weights: results in reverse mode, inputs in forward mode."""
        return self.function.results if self.is_reverse else self.function.inputs

    def all_columns(self, weights: Floats) -> Floats:
        """Return weights of the differentiable columns as weights of all columns."""
        full = np.zeros((len(weights), len(self.weighted.columns)))
        full[:, self.weighted.differentiable] = weights
        return full

    def along(self, rows: Floats, weights: Floats) -> Floats:
        """Return gradients for cotangents, or tangents for directions, of the differentiable columns."""
        if self.is_reverse:
            return self.function.gradients(rows, weights)[:, self.function.inputs.differentiable]
        return self.function.tangents(rows, weights)[1][:, self.function.results.differentiable]

    def __call__(self, rows: Floats, sizes: Floats | None = None, /) -> Floats:
        """Return the Jacobians at rows, shape (samples, results, inputs).

        Args:
            rows: The samples.
            sizes: Those of the weights where they are not 1, shape (samples, weights). Entries are divided by them.
        """
        columns, count = self.weighted.differentiable, len(self.weighted.differentiable)
        parts = []
        for some in stretches_of_rows(len(rows), count * (rows.shape[1] + len(self.weighted.columns))):
            units = np.zeros((len(rows[some]), count, len(self.weighted.columns)))
            units[:, range(count), columns] = 1.0 if sizes is None else sizes[some]
            parts.append(self.along(np.repeat(rows[some], count, axis=0), units.reshape(-1, units.shape[2])))
        entries = np.concatenate(parts)
        by_weight = entries.reshape(len(rows), count, entries.shape[1])
        if sizes is not None:
            by_weight = by_weight / sizes[:, :, None]
        return by_weight if self.is_reverse else by_weight.transpose(0, 2, 1)

    def by_input(self, rows: Floats, inputs: Indices, /) -> Floats:
        """Return the entries of one differentiable input a row, shape (samples, results)."""
        if self.is_reverse:
            return self(rows)[np.arange(len(rows)), :, inputs]
        directions = np.zeros((len(rows), len(self.weighted.columns)))
        directions[np.arange(len(rows)), np.asarray(self.weighted.differentiable)[inputs]] = 1.0
        return self.along(rows, directions)
