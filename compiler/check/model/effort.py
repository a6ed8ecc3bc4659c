"""How much of everything a check of launches can afford: what a launch does goes in, numbers of samples come out.

Work is counted, not timed, so that the same seed gives the same samples on every machine. A unit is an index into a
tensor, some five nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    import numpy.typing as npt

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
    """Pairs of sample and input to look at, those to look at closely, scouts; ``work`` is that of one launch."""

    pairs: int = 6000
    deep: int = 500
    scouts: int = 2048
    work: float = 0.0

    def thinned(self, count: int, inputs: int, results: int) -> npt.NDArray[np.bool_]:
        """Which of the samples to keep: some from all over."""
        each = self.work * _BACKWARD * (_JACOBIANS * results + inputs)
        most = max(_FEWEST, int(_MOST / each)) if each else count
        kept = np.zeros(count, bool)
        kept[np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))] = True
        return kept


def work_of(accesses: int, kernel: Kernel, extents: Extents) -> float:
    """What a launch of a kernel is that uses so many indices."""
    textures = sum(p.memory is Memory.TEXTURE2D for p in kernel.params)
    return float(accesses + math.prod(extents.domain) * (_THREAD + _SAMPLE * textures))


def effort_of(work: float) -> Effort:
    """What is affordable where a launch is so much work."""
    return Effort(
        min(6000, max(150, int(_MOST / (_SCREEN * work)))),
        min(500, max(12, int(_MOST / (_DEEP * work)))),
        min(2048, max(32, int(_MOST / (_SCOUT * work)))),
        work,
    )
