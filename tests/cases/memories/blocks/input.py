# flags: --targets spirv wgsl cuda metal hlsl cpp
"""Every block of the domain has elements of its own: a group adds up their gradients, without atomics."""

import slangad as sa
from slangad import Each, NoDiff, Sum, Tensor, float2


@sa.kernel(dims=2, tile=(16, 16))
def curve(x: NoDiff[Each[float]], coeffs: Tensor[float, 3]) -> Sum[float]:
    """A polynomial for each block of 16 x 16."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    total, power = 0.0, 1.0
    for k in range(8):
        total += coeffs[i // 16, j // 16, k] * power
        power *= x
    return total * total


@sa.kernel(dims=2)
def palette(pick: NoDiff[Each[int]], colors: Tensor[float2, 1]) -> Each[float2]:
    """Four colours for each block of 8 x 8, one of which a thread takes; blocks are numbered row by row."""
    across = (sa.thread_count(1) + 7) // 8
    block = sa.thread_id(0) // 8 * across + sa.thread_id(1) // 8
    return colors[4 * block + sa.clamp(pick, 0, 3)]


@sa.kernel
def pairs(x: NoDiff[Each[float]], weights: Tensor[float, 1]) -> Each[float]:
    """Two elements for each thread: no group is needed."""
    i = sa.thread_id(0)
    return weights[2 * i] * x + weights[2 * i + 1]
