"""Kernels with loops that groups run for a whole tile because the user says so: ``sa.range`` leaves them to threads."""

import slangad as sa
from slangad import Each, NoDiff, Tensor, Uniform, float2, float3


@sa.kernel(dims=2)
def short(
    order: NoDiff[Tensor[int, 1]],
    mean: Tensor[float2, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    count: Uniform[int],
) -> Each[float3]:
    """A loop so short that Slang would keep its states."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = 3 * (row // 16) + 5 * (column // 16)
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    for k in sa.group_range(count, max_iters=12):
        g = order[start + k]
        d = float2(column, row) - mean[g]
        alpha = min(opacity[g] * sa.exp(-0.02 * sa.dot(d, d)), 0.99)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
    return gain * light


@sa.kernel(dims=2)
def two(
    order: NoDiff[Tensor[int, 1]],
    mean: Tensor[float2, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    count: Uniform[int],
) -> Each[float3]:
    """Two loops of one kind, with a third before them whose iterations each thread has for itself."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = 3 * (row // 16) + 5 * (column // 16)
    haze = 0.0
    for k in sa.range(count, max_iters=200):
        g = order[start + k]
        haze += opacity[g] / (1.0 + sa.length(float2(column, row) - mean[g]))
    light = float3(0.0, 0.0, 0.0)
    for k in sa.group_range(count, max_iters=200):
        g = order[start + k]
        d = float2(column, row) - mean[g]
        light += color[g] * (opacity[g] * sa.exp(-0.02 * sa.dot(d, d)))
    for k in sa.range(1, count, max_iters=200):
        light += 0.1 * color[order[start + k]] * gain
    return gain * light * (1.0 + haze)


@sa.kernel
def alone(color: Tensor[float3, 1], x: Each[float], count: Uniform[int]) -> Each[float3]:
    """No tile, and no loop of a group."""
    light = float3(0.0, 0.0, 0.0)
    for k in sa.group_range(1, count, 2, max_iters=12):
        light += color[k] * sa.sin(x * k)
    return light
