"""Kernels that add to outputs: histograms and splats."""

import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, float2, float3


@sa.kernel
def soft(x: Each[float], w: Each[float], bins: OutTensor[float, 1]):
    """A histogram whose values are shared by two neighbouring bins."""
    at = x * 255.0
    k = int(sa.floor(at))
    bins[k] += w * (1.0 - (at - k))
    bins[k + 1] += w * (at - k)


@sa.kernel
def count(x: Each[float], counts: OutTensor[int, 1], left: OutTensor[sa.uint, 1]):
    k = int(x * 256.0)
    counts[k] += 1
    left[k] -= 1


@sa.kernel
def splat(at: NoDiff[Each[float2]], color: Each[float3], image: OutTensor[float3, 2]):
    image[int(at.y * 512.0), int(at.x * 512.0)] += color * color


@sa.kernel(dims=2)
def several(
    x: Each[float],
    a: Param[float],
    own: OutTensor[float, 2],
    total: OutTensor[float, 1],
    seen: NoDiff[OutTensor[float, 1]],
) -> Sum[float]:
    """Elements of one thread, of all threads, and of no gradient, beside a result."""
    total[0] -= a * x * x
    for _ in range(3):
        own[sa.thread_id(0), sa.thread_id(1)] += a * x
    if x > 0.5:
        seen[int(x * 4.0)] += x
    return a * x


@sa.kernel
def marked(
    x: Each[float],
    marks: OutTensor[int, 1],
    doubled: NoDiff[OutTensor[float, 1]],
    turns: InOutTensor[int, 1],
    calls: OutTensor[int, 1],
) -> Each[float]:
    """Stores and additions without gradient, beside a result that has one."""
    i = sa.thread_id()
    turn = turns[i]
    marks[i] = i
    doubled[i] = 2.0 * x
    turns[i] = turn + 1
    calls[i] += 1
    return x * x * turn


@sa.kernel
def distance(bins: Each[float], wanted: NoDiff[Each[float]]) -> Mean[float]:
    return (bins - wanted) ** 2


@sa.pipeline
def match(
    x: Tensor[float, 1], w: Tensor[float, 1], bins: OutTensor[float, 1], wanted: NoDiff[Tensor[float, 1]]
) -> Mean[float]:
    """A histogram, then its distance from another one."""
    soft(x, w, bins)
    return distance(bins, wanted)
