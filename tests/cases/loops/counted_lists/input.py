"""Loops over the list of a tile whose state has counters: groups run them, and a counter has no gradient."""

import slangad as sa
from slangad import Each, NoDiff, Tensor


@sa.kernel(dims=2)
def counted(count: NoDiff[Tensor[int, 2]], light: Tensor[float, 1], opacity: Tensor[float, 1]) -> Each[float]:
    """Nothing ends the loop, so its last iterations may not be undone."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    total = 0.0
    through = 1.0
    number = 0
    for k in sa.range(count[row // 16, column // 16], max_iters=200):
        alpha = opacity[k] * sa.exp(-0.1 * float(column))
        total += light[k] * alpha * through
        through *= 1.0 - alpha
        if alpha > 0.1:
            number += 1
    return total * float(number)


@sa.kernel(dims=2)
def limited(count: NoDiff[Tensor[int, 2]], light: Tensor[float, 1], opacity: Tensor[float, 1]) -> Each[float]:
    """The counter ends the loop, and what an iteration adds reads it: it is undone, too."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    total = 0.0
    through = 1.0
    number = 0
    for k in sa.range(count[row // 16, column // 16], max_iters=200):
        alpha = opacity[k] * sa.exp(-0.1 * float(column))
        total += light[k] * alpha * through / float(1 + number)
        through *= 1.0 - alpha
        number += 1
        if through < 1e-4 or number >= 8:
            break
    return total
