"""Loops that a tile shares, into which gradients flow from outside: parameters, elements, what is read before them."""

import slangad as sa
from slangad import Each, NoDiff, Param, Sum, Tensor, Uniform, float2, float3


@sa.struct
class Lens:
    """What all elements see through."""

    shift: float2
    focus: float


@sa.differentiable
def falloff(d: float2, lens: Lens) -> float:
    """A bell whose place and width the lens changes."""
    moved = d + lens.shift
    return sa.exp(-0.02 * lens.focus * sa.dot(moved, moved))


@sa.kernel(dims=2)
def seen_through(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    lamp: Tensor[float, 2],
    gain: Each[float],
    veil: Each[float2],
    behind: Param[float3],
    lens: Param[Lens],
    most: Uniform[int],
) -> Each[float3]:
    """Gradients flow into the first state, from a struct, from the element, and from what the tile reads before."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    bright = lamp[row // 16, column // 16]
    light = 0.3 * behind * veil.x
    through = 1.0 / (1.0 + veil.y * veil.y)
    dust = gain * gain
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        alpha = min(opacity[g] * dust * falloff(float2(column, row) - mean[g], lens), 0.99)
        light += color[g] * (alpha * through * bright)
        through *= 1.0 - alpha
    return gain * (light + behind * through)


@sa.kernel(dims=2)
def left_early(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    lamp: Tensor[float, 2],
    gain: Each[float],
    veil: Each[float2],
    behind: Param[float3],
    lens: Param[Lens],
    most: Uniform[int],
) -> Each[float3]:
    """The same, where elements skip what is faint and leave when it is dark."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    bright = lamp[row // 16, column // 16]
    light = 0.3 * behind * veil.x
    through = 1.0 / (1.0 + veil.y * veil.y)
    dust = gain * gain
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        alpha = min(opacity[g] * dust * falloff(float2(column, row) - mean[g], lens), 0.99)
        if alpha < 1.0 / 255.0:
            continue
        left = through * (1.0 - alpha)
        if left < 0.05:
            break
        light += color[g] * (alpha * through * bright)
        through = left
    return gain * (light + behind * through)


@sa.kernel(dims=3)
def mist(
    density: Tensor[float, 1], glow: Tensor[float, 1], sight: Each[float], thickness: Param[float], most: Uniform[int]
) -> Sum[float]:
    """Blocks of three axes; gradients flow to elements from the loop alone."""
    i, j, k = sa.thread_id(0), sa.thread_id(1), sa.thread_id(2)
    start = i // 4 + 2 * (j // 8) + 3 * (k // 8)
    light = 0.0
    through = 1.0
    for n in sa.range(most, max_iters=200):
        passed = sa.exp(-density[start + n] * sight * thickness)
        light += through * (1.0 - passed) * glow[start + n]
        through *= passed
    return light * light


@sa.kernel(dims=2)
def settled(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    most: Uniform[int],
) -> Each[float3]:
    """An inner loop halves what it adds in a branch, and a branch divides by what is zero on the other side."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.1, 0.0, 0.0)
    through = 1.0
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        d = float2(column, row) - mean[g]
        q = sa.dot(d, d)
        near = 0.5
        if q > 0.0:
            near = 0.5 / (1.0 + 1.0 / q)
        total = 0.0
        part = opacity[g]
        for _ in range(3):
            total += part
            if q > 9.0:
                part = part * 0.5
        alpha = min(gain * total * near / (1.0 + q), 0.9)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
    return light
