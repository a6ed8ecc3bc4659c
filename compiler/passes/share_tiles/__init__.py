"""Find the loops that a group can run for a whole tile: all its elements read the same memory in an iteration.

    tile = i // 16 * tiles + j // 16                    the elements of a tile have the same list
    for k in 0 .. count[tile]:                   ->     take(k): the group reads it once, into its own memory
        g = order[start[tile] + k]                      blend(state, taken): each thread, for several elements
        light = light + color[g] * through
        through = through * (1 - opacity[g])            reverse mode adds up the gradients of a thread's elements

The loop is one of ``replay_loops`` at the top of a kernel, whose reverse mode undoes iterations or needs no states.
What an iteration takes from memory is one call of ``gather_reads``; its indices come from the iteration and from what
all elements of a tile have in common. What precedes the loop needs reverse mode only if gradient flows into the loop
from there, too. In other loops, each thread reads for itself.

``read`` says what an iteration takes from memory, ``share`` finds the loops, ``functions`` makes their functions.
``unshared`` says why the others are not shared that ``sa.group_range`` asks for.
"""

from __future__ import annotations

from slangad.compiler.passes.share_tiles.functions import ELEMENTS
from slangad.compiler.passes.share_tiles.share import share_tiles

__all__ = ["ELEMENTS", "share_tiles"]
