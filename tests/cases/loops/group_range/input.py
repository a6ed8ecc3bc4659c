"""Loops that a group should run together: the same loops, with a word for the passes."""

import slangad as sa
from slangad import Array, Each, NoDiff, Tensor, Uniform


@sa.differentiable
def inside(x: float, values: Array[float, 4]) -> float:
    for k in sa.group_range(4):
        x = sa.sin(x + k)
    for i, k in enumerate(reversed(sa.group_range(1, 8, 2))):
        x += i * k
    for k, v in zip(sa.group_range(4), values):
        x += k * v
    return x


@sa.kernel(dims=2)
def shade(
    place: Tensor[float, 1], heat: Tensor[float, 1], start: NoDiff[Tensor[int, 1]], n: Uniform[int]
) -> Each[float]:
    first = start[sa.thread_id(0) // 16]
    total = 0.0
    for k in sa.group_range(n, max_iters=16):
        total += heat[first + k] * sa.exp(place[first + k] - sa.thread_id(1))
    return total
