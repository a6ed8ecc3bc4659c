"""Compare blocks of inputs of large subjects, to select the inputs and results to examine.

A block has neighbouring inputs. Its derivative along a random direction, for a random combination of the results, is
one number, which is compared with differences. Blocks that disagree are halved, down to the wrong input. Wrong inputs
are then examined entry by entry, with some others.

Signs of a direction are random. So the effects of float32 constants on the terms of a large block cancel out for the
most part, and a mistake in one of thousands of inputs is not smaller than what they leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.arrays import stretches_of_rows
from slangad.compiler.check.sampling.scouts import slopes_along
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.functions import Evaluate, RowFunction


@dataclass(frozen=True, slots=True)
class BlockFindings:
    """The outcome of comparing blocks.

    Attributes:
        inputs: The columns of the inputs to examine.
        results: The columns of the results to examine.
        rows: The samples at which a block is wrong.
        compared: The number of blocks that could be compared.
        blocks: The number of blocks.
        samples: The number of samples.
        active: The columns with a gradient at one of these; the largest gradients first. Only of large functions.
        held: The number of inputs of a large function that differ in blocks only.
    """

    inputs: tuple[int, ...]
    results: tuple[int, ...]
    rows: Floats
    compared: int
    blocks: int
    samples: int
    active: tuple[int, ...] = ()
    held: int = 0


def is_large(function: RowFunction) -> bool:
    """Return True if a function has too many inputs or results to examine all entries."""
    return (
        len(function.inputs.differentiable) > tol.FEW_INPUTS or len(function.results.differentiable) > tol.FEW_RESULTS
    )


@dataclass(frozen=True, slots=True)
class Blocks:
    """The comparison of a function of many inputs, block by block.

    Attributes:
        evaluate: Its differentiable results, with parts frozen whose derivative is declared away.
        modes: Reverse and forward mode, as far as they exist.
        most: The largest affordable number of blocks of a large function; None if the function is not large.
    """

    function: RowFunction
    evaluate: Evaluate
    modes: Sequence[Leg]
    seed: int
    most: int | None = None

    def compare(self, rows: Floats, scales: Floats) -> BlockFindings:
        """Return the outcome for the blocks of all inputs at a few samples."""
        blocks = self._blocks()
        first = len(rows[: tol.BLOCK_SAMPLES])
        places = [(row, block) for row in range(first) for block in blocks]
        if self.most is None:
            rows = rows[:first]
        else:
            places += [(row, np.concatenate(blocks)) for row in range(first, len(rows))]
        wrong, sharp = self._compare(rows, scales, places)
        suspects = self._narrowed(rows, scales, self._first([p for p, bad in zip(places, wrong, strict=True) if bad]))
        known = {self._key(block) for (_, block), good in zip(places, sharp, strict=True) if good}
        columns = tuple(dict.fromkeys(int(block[0]) for _, block in suspects))
        where = np.array(sorted({row for row, _ in suspects}), np.int64)
        active = self._active(rows)
        return BlockFindings(
            self._with_others(columns, active),
            self._results(rows, scales, suspects),
            rows[where],
            len(known & set(map(self._key, blocks))),
            len(blocks),
            len(rows),
            active,
        )

    def _blocks(self) -> list[Indices]:
        """Return blocks of neighbouring columns of one buffer."""
        buffers, size = self._buffers(), tol.BLOCK_SIZE
        if self.most is not None:
            size = max(size, -(-sum(map(len, buffers)) // self.most))
        return [buffer[k : k + size] for buffer in buffers for k in range(0, len(buffer), size)]

    def _first(self, suspects: list[tuple[int, Indices]]) -> list[tuple[int, Indices]]:
        """Return wrong blocks; those of large functions at the first sample at which each is wrong."""
        if self.most is None:
            return suspects
        rows = {self._key(block): (row, block) for row, block in reversed(suspects)}
        return [rows[key] for key in reversed(rows)]

    def _active(self, rows: Floats) -> tuple[int, ...]:
        """Return the columns with a gradient at a sample, the largest first; none of functions that are not large."""
        if self.most is None or Leg.REVERSE not in self.modes or not len(rows):
            return ()
        cotangents = np.zeros((len(rows), len(self.function.results.columns)))
        cotangents[:, self.function.results.differentiable] = 1.0
        sizes = np.zeros(rows.shape[1])
        for some in stretches_of_rows(len(rows), rows.shape[1]):
            gradients = np.nan_to_num(np.abs(self.function.gradients(rows[some], cotangents[some])))
            sizes = np.fmax(sizes, gradients.max(axis=0))
        order = np.argsort(-sizes, kind="stable")
        return tuple(order[: np.count_nonzero(sizes)].tolist())

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
        most = tol.BLOCK_HALVES * tol.BLOCK_SUSPECTS if self.most is None else tol.LARGE_SUSPECTS
        while suspects and len(wrong_inputs) < tol.BLOCK_SUSPECTS:
            suspects = suspects[:most]
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
        outputs = self.function.results.differentiable
        cotangents = np.zeros((len(rows), len(self.function.results.columns)))
        cotangents[:, outputs] = rng.normal(size=(len(rows), len(outputs)))
        with np.errstate(all="ignore"):
            gradients = self.function.gradients(rows, cotangents) if Leg.REVERSE in self.modes else None
        wrong, sharp = [], []
        for some in stretches_of_rows(len(places), rows.shape[1]):
            bad, known = self._compare_some(rows, scales, places[some], rng, (cotangents, gradients))
            wrong += bad.tolist()
            sharp += known.tolist()
        return wrong, sharp

    def _compare_some(
        self,
        rows: Floats,
        scales: Floats,
        places: Sequence[tuple[int, Indices]],
        rng: np.random.Generator,
        derivatives: tuple[Floats, Floats | None],
    ) -> tuple[Bools, Bools]:
        """Return the same for blocks whose directions fit in memory.

        Args:
            rows: The samples.
            scales: The scale of every column.
            places: The blocks, each with its sample.
            rng: Draws directions.
            derivatives: The cotangents of every sample, and the gradients for these; None without reverse mode.
        """
        inputs, outputs = self.function.inputs, self.function.results.differentiable
        cotangents, all_gradients = derivatives
        which = np.array([row for row, _ in places], np.int64)
        directions = np.zeros((len(places), len(inputs.columns)))
        for k, (_, block) in enumerate(places):
            directions[k, block] = rng.uniform(0.5, 1.0, len(block)) * rng.choice((-1.0, 1.0), len(block))
            directions[k, block] *= scales[block]
        weights = cotangents[which]
        with np.errstate(all="ignore"):
            slopes, bars = slopes_along(self.evaluate, rows[which], directions, weights[:, outputs], tol.BLOCK_WINDOWS)
            gradients = None if all_gradients is None else all_gradients[which]
            wrong, sharp = np.zeros(len(places), bool), np.zeros(len(places), bool)
            for mode in self.modes:
                if gradients is not None and mode is Leg.REVERSE:
                    terms = gradients * directions
                else:
                    terms = self.function.tangents(rows[which], directions)[1] * weights
                slope, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
                largest = np.fmax(size, np.abs(slopes))
                certain = np.isfinite(slopes) & (bars <= tol.BLOCK_SHARP * largest)
                if mode is Leg.REVERSE:  # the effects of constants on its terms have random signs
                    together = tol.BLOCK_SIGNS * np.sqrt((terms * terms).sum(axis=1))
                    largest = np.fmax(np.fmin(size, together), np.abs(slopes))
                wrong |= certain & ~(np.abs(slope - slopes) <= bars + tol.BLOCK_CONSTANTS * tol.CONSTANTS * largest)
                sharp |= certain | ((size == 0.0) & (slopes == 0.0))
        return wrong, sharp

    def _with_others(self, suspects: tuple[int, ...], active: tuple[int, ...]) -> tuple[int, ...]:
        """Return suspects with inputs of every buffer: the first, the last and some between, first active ones."""
        rng = np.random.default_rng([self.seed, 18])
        buffers = self._buffers()
        each = max(2, tol.BLOCK_SHOWN_INPUTS // max(1, len(buffers)))
        others = [int(k) for buffer in buffers for k in (buffer[0], buffer[-1], *rng.permutation(buffer)[: each - 2])]
        for buffer in buffers if active else ():
            others += np.array(active)[np.isin(active, buffer)][: each - 2].tolist()
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
