"""Give long loops derivatives that keep little or nothing of each iteration.

    for k in 0 .. n:                       end = no_diff(run(x, n))
        x = x * f(k)            ->         x = loop(x, n, end)

Slang's reverse mode keeps the state of every iteration in local memory. The functions that take the place of the loop
have derivatives of their own (``functions``): they walk back from the last iteration to the first. ``choose`` says
where each state comes from, ``undo`` finds it from the state after it, ``read`` finds what a loop reads and sets.
"""

from __future__ import annotations

from slangad.compiler.passes.replay_loops.replay import replay_loops

__all__ = ["replay_loops"]
