"""Pipelines: lists of the items that overlap each tile, with and without depths, in one to three axes."""

import slangad as sa
from slangad import Each, NoDiff, Sum, Tensor, int2, int3

GRID = (2, 3, 4)


@sa.kernel
def boxes(x: Each[float]) -> tuple[Each[int2], Each[int2]]:
    near, far = int(x), int(x + 2.0)
    return int2(near, 0), int2(far, 4)


@sa.kernel(dims=2)
def along(start: Each[int], count: Each[int], order: Tensor[int, 1], x: Tensor[float, 1]) -> Sum[float]:
    light = 0.0
    for k in sa.range(count, max_iters=64):
        light = 0.5 * light + x[order[start + k]]
    return light


@sa.pipeline(optimizer=sa.Adam(lr=0.02))
def listed(x: Tensor[float, 1], depth: NoDiff[Tensor[float, 1]], seen: NoDiff[Tensor[float, 2]]) -> Sum[float]:
    lower, upper = boxes(x)
    start, count, order = sa.bin(lower, upper, depth, tiles=(seen.shape[0] // 16, 4), capacity=8 * x.shape[0])
    return along(start, count, order, x)


@sa.pipeline
def several(
    i: Tensor[int, 1], j: Each[int], low: Tensor[int3, 1], high: Tensor[int3, 1], near: Tensor[float, 1]
) -> tuple[Each[int], Each[int]]:
    first, count, order = sa.bin(i, upper=j, tiles=7, capacity=64)
    sa.bin(low, high, depth=near, capacity=64, tiles=GRID)
    return first, order
