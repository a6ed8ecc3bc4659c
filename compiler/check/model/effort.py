"""How much of everything a check of launches can afford: what a launch does goes in, numbers of samples come out.

Work is counted, not timed, so that the same seed gives the same samples on every machine. A unit is an index into a
tensor, some five nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    import numpy.typing as npt

    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.ir.nodes import Kernel


@dataclass(frozen=True, slots=True)
class Effort:
    """Pairs of sample and input to look at, those to look at closely, scouts; ``work`` is that of one launch."""

    pairs: int = tol.PAIRS
    deep: int = tol.DEEP
    scouts: int = tol.SCOUTS
    work: float = 0.0

    def thinned(self, count: int, inputs: int, results: int) -> npt.NDArray[np.bool_]:
        """Which of the samples to keep: some from all over."""
        each = self.work * tol.WORK_BACKWARD * (tol.WORK_JACOBIANS * results + inputs)
        most = max(tol.WORK_SAMPLES, int(tol.WORK_MOST / each)) if each else count
        kept = np.zeros(count, bool)
        kept[np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))] = True
        return kept


def work_of(accesses: int, kernel: Kernel, extents: Extents) -> float:
    """What a launch of a kernel is that uses so many indices."""
    textures = sum(p.memory is Memory.TEXTURE2D for p in kernel.params)
    return float(accesses + math.prod(extents.domain) * (tol.WORK_THREAD + tol.WORK_TEXTURE * textures))


def effort_of(work: float) -> Effort:
    """What is affordable where a launch is so much work."""
    return Effort(
        min(tol.PAIRS, max(tol.PAIRS_LEAST, int(tol.WORK_MOST / (tol.WORK_SCREEN * work)))),
        min(tol.DEEP, max(tol.DEEP_LEAST, int(tol.WORK_MOST / (tol.WORK_DEEP * work)))),
        min(tol.SCOUTS, max(tol.SCOUTS_LEAST, int(tol.WORK_MOST / (tol.WORK_SCOUT * work)))),
        work,
    )
