"""Which kernels have groups that can run a loop for a whole tile: ``share_tiles``, and ``replay_loops`` before it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from slangad.compiler.ir import nodes as ir

_FEWEST: Final = 128
"""Elements of a tile: a wave with four elements a thread. Fewer: a group would have several tiles."""


def why_no_tile(kernel: ir.Kernel) -> str:
    """Return why groups of a kernel run no loop for a whole tile; empty if they may."""
    if kernel.in_step:
        return "the group computes together in other ways"
    if kernel.dims == 1:
        return "the kernel has one axis"
    if kernel.tile is None:
        return f"the kernel has no tile, such as tile={(16, 16) if kernel.dims == 2 else (4, 8, 8)}"
    if not kernel.tile:
        return 'the kernel has tile="rows"'
    if math.prod(kernel.tile) < _FEWEST:
        return f"a tile of {' x '.join(map(str, kernel.tile))} has fewer than {_FEWEST} elements"
    return ""
