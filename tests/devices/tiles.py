"""Kernels in which the threads of a block of the domain read the same elements, and so do other blocks."""

import slangad as sa
from slangad import Each, NoDiff, OutTensor, Sum, Tensor, float2, float3


@sa.kernel(dims=2)
def blocks(x: NoDiff[Each[float]], w: Tensor[float, 2], c: Tensor[float3, 2]) -> Sum[float]:
    """Two tensors at one element of a block of 16 x 16: one call reads both."""
    i, j = sa.thread_id(0) // 16 % 2, sa.thread_id(1) // 16
    v = c[i, j]
    return x * w[i, j] * w[i, j] + v.x * v.y * x + v.z


@sa.kernel(dims=2, tile=(4, 32))
def two_at_a_time(x: Each[float], w: Tensor[float, 2]) -> Sum[float]:
    """A group takes two tiles at a time."""
    i, j = sa.thread_id(0) // 16 % 2, sa.thread_id(1) // 32
    return x * w[i, j] * w[i, j]


@sa.kernel(dims=2, tile=(16, 32))
def large(x: Each[float], w: Tensor[float, 2]) -> Sum[float]:
    """Tiles of 512 threads."""
    i, j = sa.thread_id(0) // 16 % 2, sa.thread_id(1) // 32
    return x * w[i, j] * w[i, j]


@sa.kernel(dims=2, tile="rows")
def in_rows(x: Each[float], w: Tensor[float, 2]) -> Sum[float]:
    """No tiles: some waves are in two blocks."""
    i, j = sa.thread_id(0) // 16 % 2, sa.thread_id(1) // 32
    return x * w[i, j] * w[i, j]


@sa.kernel(dims=2)
def marked(
    x: Each[float], w: Tensor[float, 2], ids: OutTensor[int, 2], seen: NoDiff[OutTensor[float, 2]]
) -> Sum[float]:
    """Outputs without gradient."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    v = x * w[row // 16 % 2, column // 16]
    ids[row, column] = row * 100 + column
    seen[row, column] = v
    return v * v


@sa.kernel(dims=2)
def listed(
    x: NoDiff[Each[float]], order: NoDiff[Tensor[int, 1]], w: Tensor[float2, 1], b: Tensor[float, 1]
) -> Each[float]:
    """A list for each block of 8 x 16, read by a loop that keeps nothing; some threads leave an iteration."""
    block = (sa.thread_id(0) // 8) * ((sa.thread_count(1) + 15) // 16) + sa.thread_id(1) // 16
    light = 0.0
    t = 1.0
    for k in sa.range(block % 3 + 2, max_iters=64):
        g = order[block + k]
        v = w[g]
        alpha = 0.5 * sa.sin(v.x * x) * sa.sin(v.y)
        if alpha < 0.02:
            continue
        light += t * alpha * b[g]
        t *= 1.0 - alpha
    return light


@sa.kernel(dims=3)
def cells(w: Tensor[float, 3], apart: Tensor[float, 1]) -> Sum[float]:
    """Blocks of three axes, and an index without blocks."""
    i, j, k = sa.thread_id(0), sa.thread_id(1), sa.thread_id(2)
    v = w[i // 4, j // 8 % 2, k // 8]
    return v * v * float(1 + i + j * k) + apart[(i + j + k) % 5] * v


@sa.kernel
def rows(x: Each[float], w: Tensor[float, 1], b: Tensor[float, 1]) -> Each[float]:
    """One axis."""
    r = sa.thread_id(0) // 64 % 3
    return sa.exp(w[r] * x) + b[r]
