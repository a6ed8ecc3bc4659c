"""``sa.group_range`` takes bounds and ``max_iters``."""

import slangad as sa


@sa.differentiable
def f(x: float, n: int) -> float:
    for _ in sa.group_range(n):
        x += 1.0
    for _ in sa.group_range(n, max_iters=8, unroll=True):
        x += 1.0
    for _ in sa.group_range(n, most=8):
        x += 1.0
    for _ in sa.group_range():
        x += 1.0
    for _ in sa.group_range(x, max_iters=8):
        x += 1.0
    for _ in sa.group_range(12, max_iters=8):
        x += 1.0
    return x + sa.group_range(4)
