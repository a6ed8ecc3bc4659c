"""Kernels in which every block of the domain reads elements of its own."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Sum, Tensor, Uniform, float2, float3


@sa.kernel(dims=2, tile=(16, 16))
def curves(x: NoDiff[Each[float]], c: Tensor[float, 3]) -> Sum[float]:
    """A curve for each block of 16 x 16."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    s = 0.0
    for k in range(8):
        s += c[i // 16, j // 16, k] * sa.sin(float(k + 1) * x)
    return s * s


@sa.kernel
def table(x: Each[float], w: Tensor[float, 1]) -> Each[float]:
    """32 elements for each block of 64, in one axis."""
    first = sa.thread_id(0) // 64 * 32
    s = 0.0
    for k in range(32):
        s += w[first + k] * sa.sin(float(k + 1) * x)
    return s


@sa.kernel(dims=2)
def palettes(pick: NoDiff[Each[int]], w: Tensor[float3, 1]) -> Each[float3]:
    """Four colours for each block of 8 x 8, which threads choose: blocks are numbered row by row."""
    across = (sa.thread_count(1) + 7) // 8
    block = sa.thread_id(0) // 8 * across + sa.thread_id(1) // 8
    return w[4 * block + min(max(pick, 0), 3)]


@sa.kernel(dims=2)
def small(x: Each[float], w: Tensor[float2, 2]) -> Mean[float]:
    """Blocks of 4 x 4, whose elements lie in columns."""
    v = w[sa.thread_id(1) // 4, sa.thread_id(0) // 4]
    return v.x * x + v.y * v.y


@sa.kernel(dims=2)
def large(x: Each[float], w: Tensor[float, 2], m: Param[float2]) -> Sum[float]:
    """Blocks of 32 x 32, four elements a thread. Each reads 2 x 3 elements of a tensor, in part."""
    r, c = sa.thread_id(0) // 32 * 3, sa.thread_id(1) // 32 * 4
    s = 0.0
    for k in range(3):
        s += w[r + 1, c + k + 1] * sa.cos(float(k) * x) + m.x * w[r, c + 2]
    return s * s * m.y


@sa.kernel(dims=2)
def odd(x: Each[float], w: Tensor[float, 2], shared: Tensor[float, 1], n: Uniform[int]) -> Sum[float]:
    """Blocks of 12 x 6, of which three fit a group; all threads read one element of another tensor, and any of it."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    return x * w[i // 12, j // 6] * shared[n] + shared[(i * 7 + j) % 5]


@sa.kernel(dims=3)
def cells(w: Tensor[float, 3]) -> Sum[float]:
    """Blocks of three axes."""
    i, j, k = sa.thread_id(0), sa.thread_id(1), sa.thread_id(2)
    v = w[i // 4, k // 8, j // 2]
    return v * v * float(1 + i + j * k)


@sa.kernel(dims=2)
def guarded(x: NoDiff[Each[float]], w: Tensor[float, 3]) -> Sum[float]:
    """Some threads read, and of so many elements as there are."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    s = 0.0
    if x > 0.9:
        for k in sa.range(w.shape[2], max_iters=40):
            if k % 3 == 2:
                continue
            s += w[i // 8, j // 16, k] * x
    return s * s


@sa.kernel
def lanes(x: NoDiff[Each[float]], w: Tensor[float, 1]) -> Each[float]:
    """Every thread has four elements for itself."""
    i, s = sa.thread_id(0), 0.0
    for k in range(4):
        s += w[4 * i + k] * x
    return s * s
