"""Kernels with a loop over a list that the elements of a tile share, of the lengths that splatting has."""

import slangad as sa
from slangad import Each, NoDiff, Param, Sum, Tensor, Uniform, float2, float3


@sa.differentiable
def bell(d: float2, q: float3) -> float:
    """A Gaussian."""
    return sa.exp(-0.5 * (q.x * d.x * d.x + q.z * d.y * d.y) - q.y * d.x * d.y)


@sa.kernel(dims=2)
def render(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    behind: Param[float3],
    most: Uniform[int],
) -> Each[float3]:
    """An image over a background; what follows the loop has gradients of its own."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        alpha = min(opacity[g] * bell(float2(column, row) - mean[g], conic[g]), 0.99)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
    return gain * (light + behind * through)


@sa.kernel(dims=2, tile=(8, 16))
def heat(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    power: Tensor[float, 1],
    seen: NoDiff[Each[float]],
) -> Sum[float]:
    """The state is only added to, in tiles of 128 elements; an integer of the list takes part."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    total = 0.0
    for k in sa.range(start, first[row // 16, column // 16 + 1], max_iters=300):
        g = order[k]
        d = float2(column, row) - mean[g]
        total += power[g] / (1.0 + sa.dot(d, d)) * (1.0 if g % 3 == 0 else 0.5)
    error = total - seen
    return error * error


@sa.kernel(dims=2)
def warmth(
    order: NoDiff[Tensor[int, 1]], first: NoDiff[Tensor[int, 2]], mean: Tensor[float2, 1], power: Tensor[float, 1]
) -> Each[float]:
    """Nothing but tensors has a gradient that threads add up."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    total = 0.0
    for k in sa.range(first[row // 16, column // 16 + 1] - start, max_iters=300):
        g = order[start + k]
        d = float2(column, row) - mean[g]
        total += power[g] / (1.0 + sa.dot(d, d))
    return total


@sa.kernel(dims=3)
def fog(density: Tensor[float, 1], glow: Tensor[float, 1], most: Uniform[int]) -> Sum[float]:
    """Blocks of three axes, whose lists begin at different places."""
    i, j, k = sa.thread_id(0), sa.thread_id(1), sa.thread_id(2)
    start = i // 4 + 2 * (j // 8) + 3 * (k // 8)
    light = 0.0
    through = 1.0
    for n in sa.range(most, max_iters=200):
        passed = sa.exp(-density[start + n] * (1.0 + 0.1 * sa.sin(float(i + j * k))))
        light += through * (1.0 - passed) * glow[start + n]
        through *= passed
    return light * light


@sa.kernel(dims=2)
def veils(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    behind: Param[float3],
    most: Uniform[int],
) -> Each[float3]:
    """An image whose elements leave the loop where nothing more is seen, each after iterations of its own."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        alpha = min(opacity[g] * bell(float2(column, row) - mean[g], conic[g]), 0.99)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
        if through < 0.05:
            break
    return gain * (light + behind * through)


@sa.kernel(dims=2)
def dimmed(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    behind: Param[float3],
    most: Uniform[int],
) -> Each[float3]:
    """The same, checked where an iteration begins."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    for k in sa.range(start, min(first[row // 16, column // 16 + 1], start + most), max_iters=300):
        if through < 0.05:
            break
        g = order[k]
        alpha = min(opacity[g] * bell(float2(column, row) - mean[g], conic[g]), 0.99)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
    return gain * (light + behind * through)


@sa.kernel(dims=2)
def gaussians(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    behind: Param[float3],
    most: Uniform[int],
) -> Each[float3]:
    """The loop of 3-D Gaussian splatting: it skips what is not seen, and ends before too little light is left."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        d, q = float2(column, row) - mean[g], conic[g]
        power = -0.5 * (q.x * d.x * d.x + q.z * d.y * d.y) - q.y * d.x * d.y
        if power > 0.0:
            continue
        alpha = min(opacity[g] * sa.exp(power), 0.99)
        if alpha < 1.0 / 255.0:
            continue
        left = through * (1.0 - alpha)
        if left < 0.05:
            break
        light += color[g] * (alpha * through)
        through = left
    return gain * (light + behind * through)


@sa.kernel(dims=2)
def counted(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    behind: Param[float3],
    most: Uniform[int],
) -> Each[float3]:
    """An image, and the number of gaussians that a ray meets; nothing ends the loop."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    number = 0
    bright = False
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        alpha = min(opacity[g] * bell(float2(column, row) - mean[g], conic[g]), 0.99)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
        bright = bright or alpha > 0.5
        if alpha > 0.01:
            number += 1
    shown = gain if bright else 0.5 * gain
    return shown * (light + behind * through) * (1.0 + 0.125 * float(number))


@sa.kernel(dims=2)
def limited(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    behind: Param[float3],
    most: Uniform[int],
) -> Each[float3]:
    """The loop of 3-D Gaussian splatting over the first gaussians that a ray meets: a counter ends it."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    number = 0
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        d, q = float2(column, row) - mean[g], conic[g]
        power = -0.5 * (q.x * d.x * d.x + q.z * d.y * d.y) - q.y * d.x * d.y
        if power > 0.0:
            continue
        alpha = min(opacity[g] * sa.exp(power), 0.99)
        if alpha < 1.0 / 255.0:
            continue
        left = through * (1.0 - alpha)
        if left < 0.05:
            break
        light += color[g] * (alpha * through)
        through = left
        number += 1
        if number >= 6:
            break
    return gain * (light + behind * through) * (1.0 + 0.125 * float(number))


@sa.kernel(dims=2)
def faded(
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 2]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    gain: Each[float],
    behind: Param[float3],
    most: Uniform[int],
) -> Each[float3]:
    """Each gaussian that a ray meets weighs by its place among them: reverse mode counts backward."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    number = 0
    for k in sa.range(min(first[row // 16, column // 16 + 1] - start, most), max_iters=300):
        g = order[start + k]
        alpha = min(opacity[g] * bell(float2(column, row) - mean[g], conic[g]), 0.99)
        weight = 1.0 / (1.0 + 0.25 * float(number))
        light += color[g] * (alpha * through * weight)
        through *= 1.0 - alpha
        if alpha > 0.01:
            number += 1
    return gain * (light + behind * through)


@sa.kernel(dims=2)
def nearest(
    order: NoDiff[Tensor[int, 1]], first: NoDiff[Tensor[int, 2]], mean: Tensor[float2, 1], power: Tensor[float, 1]
) -> Each[float]:
    """A sum of the first seven sources in the list that are near."""
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    total = 0.0
    met = 0
    for k in sa.range(first[row // 16, column // 16 + 1] - start, max_iters=300):
        g = order[start + k]
        d = float2(column, row) - mean[g]
        if sa.dot(d, d) > 300.0:
            continue
        total += power[g] / (1.0 + sa.dot(d, d))
        met += 1
        if met >= 7:
            break
    return total * float(met)
