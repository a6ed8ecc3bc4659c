"""Compute how many samples the check of a launch can afford.

Work is counted, not timed, so that the same seed gives the same samples on every machine. The unit is one index into a
tensor, about five nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Bools
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.ir.nodes import Kernel


@dataclass(frozen=True, slots=True)
class Effort:
    """Affordable numbers.

    Attributes:
        pairs: Pairs of sample and input to look at.
        deep: Pairs to look at with all windows.
        scouts: Samples to look at cheaply.
        work: The work of one launch.
    """

    pairs: int = tol.PAIRS
    deep: int = tol.DEEP
    scouts: int = tol.SCOUTS
    work: float = 0.0

    def thinned(self, count: int, inputs: int, results: int) -> Bools:
        """Return the samples to keep: some, spread over all."""
        each = self.work * tol.WORK_BACKWARD * (tol.WORK_JACOBIANS * results + inputs)
        most = max(tol.WORK_SAMPLES, int(tol.WORK_MOST / each)) if each else count
        kept = np.zeros(count, bool)
        kept[np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))] = True
        return kept


def work_of(accesses: int, kernel: Kernel, extents: Extents) -> float:
    """Return the work of a launch of a kernel with this number of accesses to tensors."""
    textures = sum(p.memory is Memory.TEXTURE2D for p in kernel.params)
    return float(accesses + math.prod(extents.domain) * (tol.WORK_THREAD + tol.WORK_TEXTURE * textures))


def blocks_of(work: float) -> int:
    """Return the affordable number of blocks of a large launch."""
    return max(tol.LARGE_BLOCKS, int(tol.WORK_MOST / (tol.WORK_BLOCK * tol.BLOCK_SAMPLES * work)))


def effort_of(work: float) -> Effort:
    """Return the affordable effort if one launch is this much work."""
    return Effort(
        min(tol.PAIRS, max(tol.PAIRS_LEAST, int(tol.WORK_MOST / (tol.WORK_SCREEN * work)))),
        min(tol.DEEP, max(tol.DEEP_LEAST, int(tol.WORK_MOST / (tol.WORK_DEEP * work)))),
        min(tol.SCOUTS, max(tol.SCOUTS_LEAST, int(tol.WORK_MOST / (tol.WORK_SCOUT * work)))),
        work,
    )
