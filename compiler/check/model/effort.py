"""Compute how many samples the check of a launch can afford.

Work is counted, so that the same seed gives the same samples on every machine. The unit is one index into a tensor,
about five nanoseconds. Only rows that take long are timed, too: see ``timed_work``.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.check.model.arrays import Bools, Floats
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

    @property
    def is_long(self) -> bool:
        """Return True if a launch takes long."""
        return self.work >= tol.WORK_LONG

    def thinned(self, count: int, inputs: int, results: int, least: int = tol.WORK_SAMPLES) -> Bools:
        """Return the samples to keep: some, spread over all, at least ``least`` of them."""
        each = self.work * tol.WORK_BACKWARD * (tol.WORK_JACOBIANS * results + inputs)
        most = max(least, int(tol.WORK_MOST / each)) if each else count
        return evenly(count, most)


def evenly(count: int, most: int) -> Bools:
    """Return True for at most some of a number of samples, spread over all."""
    kept = np.zeros(count, bool)
    kept[np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))] = True
    return kept


def work_of(accesses: int, kernel: Kernel, extents: Extents) -> float:
    """Return the work of a launch of a kernel with this number of accesses to tensors."""
    textures = sum(p.memory is Memory.TEXTURE2D for p in kernel.params)
    return float(accesses + math.prod(extents.domain) * (tol.WORK_THREAD + tol.WORK_TEXTURE * textures))


def timed_work(evaluate: Callable[[Floats, Floats], Floats], rows: Floats) -> float:
    """Return the work of a row by its processor time; 0 for rows that do not take long.

    The indices of a program that computes much are only a part of its work. Its time is rounded up to a power of two,
    so that it hardly ever differs from run to run.
    """
    seconds = 0.0
    for count in tol.TIMED_COUNTS if len(rows) else ():
        if seconds * count > tol.TIMED_PART:
            break
        some = rows[np.arange(count) % len(rows)]
        begun = time.process_time()
        evaluate(some, some)
        seconds = (time.process_time() - begun) / count
        if seconds < tol.TIMED_LEAST:  # the more rows, the smaller the part of a call that is not theirs
            break
    return 0.0 if seconds <= tol.TIMED_LEAST else 2.0 ** math.ceil(math.log2(seconds / tol.WORK_SECONDS))


def longer_of(counted: float, timed: float) -> float:
    """Return the counted work, unless the timed work is far more: then indices are not what takes the time."""
    return timed if timed > tol.TIMED_FAR * counted else counted


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
