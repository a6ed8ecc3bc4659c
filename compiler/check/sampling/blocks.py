"""Compare blocks of inputs of large subjects, to select the inputs and results to examine.

A block has neighbouring inputs. Its derivative along a random direction, for a random combination of the results, is
one number, which is compared with differences. Blocks that disagree are halved, down to the wrong input. Wrong inputs
are then examined entry by entry, with some others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import ColumnTable
from slangad.compiler.check.sampling.scouts import slopes_along
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.functions import Evaluate, RowFunction
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


@dataclass(frozen=True, slots=True)
class BlockFindings:
    """The outcome of comparing blocks.

    Attributes:
        inputs: The columns of the inputs to examine.
        results: The columns of the results to examine.
        rows: The samples at which a block is wrong.
        compared: The number of blocks that could be compared.
        blocks: The number of blocks.
    """

    inputs: tuple[int, ...]
    results: tuple[int, ...]
    rows: Floats
    compared: int
    blocks: int


def is_large(function: RowFunction) -> bool:
    """Return True if a function has too many inputs or results to examine all entries."""
    return (
        len(function.inputs.differentiable) > tol.FEW_INPUTS or len(function.results.differentiable) > tol.FEW_RESULTS
    )


def focused(function: RowFunction, inputs: Iterable[int], results: Iterable[int]) -> FocusedFunction:
    """Return the function with these columns only."""
    return FocusedFunction(function, _only(function.inputs, set(inputs)), _only(function.results, set(results)))


def _only(table: ColumnTable, kept: set[int]) -> ColumnTable:
    columns = tuple(
        column if k in kept else replace(column, differentiable=False) for k, column in enumerate(table.columns)
    )
    return ColumnTable(columns, table.stretches)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The comparison of a function of many inputs, block by block.

    Attributes:
        evaluate: Its differentiable results, with parts frozen whose derivative is declared away.
        modes: Reverse and forward mode, as far as they exist.
    """

    function: RowFunction
    evaluate: Evaluate
    modes: Sequence[Leg]
    seed: int

    def compare(self, rows: Floats, scales: Floats) -> BlockFindings:
        """Return the outcome for the blocks of all inputs at a few samples."""
        rows = rows[: tol.BLOCK_SAMPLES]
        blocks = self._blocks()
        places = [(row, block) for row in range(len(rows)) for block in blocks]
        wrong, sharp = self._compare(rows, scales, places)
        suspects = self._narrowed(rows, scales, [place for place, bad in zip(places, wrong, strict=True) if bad])
        known = {self._key(block) for (_, block), good in zip(places, sharp, strict=True) if good}
        columns = tuple(dict.fromkeys(int(block[0]) for _, block in suspects))
        where = np.array(sorted({row for row, _ in suspects}), np.int64)
        return BlockFindings(
            self._with_others(columns),
            self._results(rows, scales, suspects),
            rows[where],
            len(known),
            len(blocks),
        )

    def _blocks(self) -> list[Indices]:
        """Return blocks of neighbouring columns of one buffer."""
        size = tol.BLOCK_SIZE
        return [buffer[k : k + size] for buffer in self._buffers() for k in range(0, len(buffer), size)]

    def _buffers(self) -> list[Indices]:
        """Return the differentiable columns of every input buffer that has some."""
        inputs = self.function.inputs
        differentiable = set(inputs.differentiable)
        buffers = ([k for k in range(*stretch) if k in differentiable] for stretch in inputs.stretches.values())
        return [np.array(buffer, np.int64) for buffer in buffers if buffer]

    def _key(self, block: Indices) -> tuple[int, int]:
        return int(block[0]), len(block)

    def _narrowed(self, rows: Floats, scales: Floats, suspects: list[tuple[int, Indices]]) -> list[tuple[int, Indices]]:
        """Return single inputs that are wrong, by halving wrong blocks; if that finds none, first inputs of blocks."""
        wrong_inputs: list[tuple[int, Indices]] = []
        while suspects and len(wrong_inputs) < tol.BLOCK_SUSPECTS:
            suspects = suspects[: tol.BLOCK_HALVES * tol.BLOCK_SUSPECTS]
            wrong_inputs += [(row, block) for row, block in suspects if len(block) == 1]
            halves = [
                (row, half)
                for row, block in suspects
                if len(block) > 1
                for half in (block[: len(block) // 2], block[len(block) // 2 :])
            ]
            wrong, _ = self._compare(rows, scales, halves) if halves else ([], [])
            left = [half for half, bad in zip(halves, wrong, strict=True) if bad]
            if halves and not left and not wrong_inputs:
                return [(row, half[:1]) for row, half in halves[: tol.BLOCK_SUSPECTS]]
            suspects = left
        return wrong_inputs[: tol.BLOCK_SUSPECTS]

    def _compare(
        self, rows: Floats, scales: Floats, places: Sequence[tuple[int, Indices]]
    ) -> tuple[list[bool], list[bool]]:
        """Return for each block if it is wrong at its sample, and if it could be compared."""
        rng = np.random.default_rng([self.seed, 17])
        inputs, outputs = self.function.inputs, self.function.results.differentiable
        cotangents = np.zeros((len(rows), len(self.function.results.columns)))
        cotangents[:, outputs] = rng.normal(size=(len(rows), len(outputs)))
        which = np.array([row for row, _ in places], np.int64)
        directions = np.zeros((len(places), len(inputs.columns)))
        for k, (_, block) in enumerate(places):
            directions[k, block] = rng.uniform(0.5, 1.0, len(block)) * rng.choice((-1.0, 1.0), len(block))
            directions[k, block] *= scales[block]
        weights = cotangents[which]
        with np.errstate(all="ignore"):
            slopes, bars = slopes_along(self.evaluate, rows[which], directions, weights[:, outputs], tol.BLOCK_WINDOWS)
            gradients = self.function.gradients(rows, cotangents)[which] if Leg.REVERSE in self.modes else None
            wrong, sharp = np.zeros(len(places), bool), np.zeros(len(places), bool)
            for mode in self.modes:
                if gradients is not None and mode is Leg.REVERSE:
                    terms = gradients * directions
                else:
                    terms = self.function.tangents(rows[which], directions)[1] * weights
                slope, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
                largest = np.fmax(size, np.abs(slopes))
                certain = np.isfinite(slopes) & (bars <= tol.BLOCK_SHARP * largest)
                wrong |= certain & ~(np.abs(slope - slopes) <= bars + tol.BLOCK_CONSTANTS * tol.CONSTANTS * largest)
                sharp |= certain | ((size == 0.0) & (slopes == 0.0))
        return [bool(w) for w in wrong], [bool(s) for s in sharp]

    def _with_others(self, suspects: tuple[int, ...]) -> tuple[int, ...]:
        """Return suspects with inputs of every buffer: the first, the last and some between."""
        rng = np.random.default_rng([self.seed, 18])
        buffers = self._buffers()
        each = max(2, tol.BLOCK_SHOWN_INPUTS // max(1, len(buffers)))
        others = [int(k) for buffer in buffers for k in (buffer[0], buffer[-1], *rng.permutation(buffer)[: each - 2])]
        return tuple(sorted({*suspects, *others}))

    def _results(self, rows: Floats, scales: Floats, suspects: list[tuple[int, Indices]]) -> tuple[int, ...]:
        """Return the results that suspects move most, and some others."""
        rng = np.random.default_rng([self.seed, 19])
        outputs = np.array(self.function.results.differentiable, np.int64)
        some = rng.permutation(outputs)[: tol.BLOCK_SHOWN_RESULTS]
        shown = {int(k) for k in (outputs[0], outputs[-1], *some)}
        for row, block in suspects:
            both = np.repeat(rows[row : row + 1], 2, axis=0)
            both[:, block] += np.array([[1.0], [-1.0]]) * tol.BLOCK_STEP * scales[block]
            values = self.evaluate(both, np.repeat(rows[row : row + 1], 2, axis=0))
            with np.errstate(all="ignore"):
                moved = np.nan_to_num(np.abs(values[1] - values[0]))
            shown |= {int(k) for k in outputs[np.argsort(-moved)[:2]]}
        return tuple(sorted(shown))
