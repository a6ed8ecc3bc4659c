"""Effort: how many samples the check of a launch can afford.

Work is counted, not timed, so that the same seed gives the same samples on every machine. The unit is one index into a
tensor, about five nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Bools
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.ir.nodes import Kernel

_MOST: Final = 3e8
"""Units that one part of a check may take: about a second."""
_THREAD: Final = 8
_SAMPLE: Final = 32
_SCREEN: Final = 51
_DEEP: Final = 650
_SCOUT: Final = 36
_JACOBIANS: Final = 12
_BACKWARD: Final = 3
_FEWEST: Final = 24


@dataclass(frozen=True, slots=True)
class Effort:
    """Affordable numbers.

    Attributes:
        pairs: Pairs of sample and input to look at.
        deep: Pairs to look at with all windows.
        scouts: Samples to look at cheaply.
        work: The work of one launch.
    """

    pairs: int = 6000
    deep: int = 500
    scouts: int = 2048
    work: float = 0.0

    def thinned(self, count: int, inputs: int, results: int) -> Bools:
        """Return which of the samples to keep: some, spread over all."""
        each = self.work * _BACKWARD * (_JACOBIANS * results + inputs)
        most = max(_FEWEST, int(_MOST / each)) if each else count
        kept = np.zeros(count, bool)
        kept[np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))] = True
        return kept


def work_of(accesses: int, kernel: Kernel, extents: Extents) -> float:
    """Return the work of a launch of a kernel with this number of accesses to tensors."""
    textures = sum(p.memory is Memory.TEXTURE2D for p in kernel.params)
    return float(accesses + math.prod(extents.domain) * (_THREAD + _SAMPLE * textures))


def effort_of(work: float) -> Effort:
    """Return what is affordable if one launch is this much work."""
    return Effort(
        min(6000, max(150, int(_MOST / (_SCREEN * work)))),
        min(500, max(12, int(_MOST / (_DEEP * work)))),
        min(2048, max(32, int(_MOST / (_SCOUT * work)))),
        work,
    )
