"""Lists of items by tile, of grids with one to three axes, and a sum over the lists with gradients."""

import slangad as sa
from slangad import Each, NoDiff, Sum, Tensor, int2, int3

Lists = tuple[Each[int], Each[int], Each[int]]


@sa.pipeline
def line(low: Tensor[int, 1], high: Tensor[int, 1], grid: Tensor[int, 1], room: Tensor[int, 1]) -> Lists:
    start, count, order = sa.bin(low, high, tiles=grid.shape, capacity=room.shape[0])
    return start, count, order


@sa.pipeline
def plane(
    low: Tensor[int2, 1], high: Tensor[int2, 1], depth: Tensor[float, 1], grid: Tensor[int, 2], room: Tensor[int, 1]
) -> Lists:
    start, count, order = sa.bin(low, high, depth, tiles=grid.shape, capacity=room.shape[0])
    return start, count, order


@sa.pipeline
def space(
    low: Tensor[int3, 1], high: Tensor[int3, 1], depth: Tensor[float, 1], grid: Tensor[int, 3], room: Tensor[int, 1]
) -> Lists:
    start, count, order = sa.bin(low, high, depth, tiles=grid.shape, capacity=room.shape[0])
    return start, count, order


@sa.kernel
def wave(start: Each[int], count: Each[int], order: Tensor[int, 1], x: Tensor[float, 1]) -> Sum[float]:
    height = 0.5
    for k in sa.range(count, max_iters=64):
        height = height - 0.2 * height * height * height + x[order[start + k]] * height
    return height


@sa.pipeline(optimizer=sa.Adam(lr=0.01))
def waves(x: Tensor[float, 1], low: Tensor[int, 1], high: Tensor[int, 1], seen: NoDiff[Tensor[int, 1]]) -> Sum[float]:
    start, count, order = sa.bin(low, high, x, tiles=seen.shape, capacity=4 * low.shape[0])
    return wave(start, count, order, x)
