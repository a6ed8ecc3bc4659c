"""Kernels whose threads compute together in their group."""

import slangad as sa
from slangad import Each, NoDiff, OutTensor, Param, Sum, Tensor, Uniform, float2, float3


@sa.kernel(group_size=(64,))
def softmax(score: Each[float], heat: Param[float]) -> Each[float]:
    """A row of attention is a group."""
    x = heat * score
    e = sa.exp(x - sa.group_max(x))
    return e / sa.group_sum(e)


@sa.kernel(group_size=(48,))
def normalize(x: Each[float], gain: Tensor[float, 1], offset: Param[float]) -> Each[float]:
    count = float(sa.group_sum(1))
    mean = sa.group_sum(x) / count
    away = x - mean
    variance = sa.group_sum(away * away) / count
    return gain[sa.thread_id() % 48] * away / sa.sqrt(variance + 0.01) + offset


@sa.kernel(group_size=(100,))
def prefix(x: Each[float2], rate: Param[float]) -> Sum[float]:
    run = sa.group_scan(rate * x)
    low, high = sa.group_min(x), sa.group_max(x)
    return sa.dot(run, run) * (high.x - low.y)


@sa.kernel(dims=2, group_size=(4, 16), shapes={"total": (3, 2)})
def blocks(colour: Each[float3], total: OutTensor[float3, 2]):
    """The sum of the squares of a block of pixels; one thread of each group stores it."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    found = sa.group_sum(colour * colour)
    if i % 4 == 0 and j % 16 == 0:
        total[i // 4, j // 16] = found


@sa.kernel(dims=2, group_size=(8, 8))
def diffuse(heat: Each[float], rate: Param[float], steps: Uniform[int]) -> Each[float]:
    """Heat flows inside of a block, whose border is cold."""
    tile = sa.Shared[float, 10, 10]()
    i, j = sa.thread_id(0) % 8 + 1, sa.thread_id(1) % 8 + 1
    tile[i, j] = heat
    sa.barrier()
    for _ in sa.range(steps, max_iters=6):
        around = tile[i - 1, j] + tile[i + 1, j] + tile[i, j - 1] + tile[i, j + 1]
        own = tile[i, j]
        changed = own + rate * (around - 4.0 * own) + 0.1 * own * own
        sa.barrier()
        tile[i, j] = changed
        sa.barrier()
    return tile[i, j]


@sa.kernel(group_size=(8,), shapes={"body": (5,)})
def pull(at: Each[float3], body: Tensor[float3, 1], mass: NoDiff[Tensor[float, 1]]) -> Each[float3]:
    """A group reads the bodies once, 8 at a time. The last group may have fewer threads, which then read several."""
    held = sa.Shared[float3, 8]()
    weight = sa.Shared[float, 8]()
    k, count = sa.thread_id() % 8, sa.group_sum(1)
    force = float3(0.0)
    for part in sa.range((body.shape[0] + 7) // 8, max_iters=8):
        for j in range(8):
            if j % count == k:
                n = 8 * part + j
                inside = n < body.shape[0]
                weight[j] = mass[n] if inside else 0.0
                held[j] = body[n] if inside else float3(0.0)
        sa.barrier()
        for j in range(8):
            away = held[j] - at
            near = sa.dot(away, away) + 0.5
            force += weight[j] * away / (near * sa.sqrt(near))
        sa.barrier()
    return force


@sa.kernel(group_size=(16,))
def tournament(x: Each[float]) -> Each[float]:
    """A sum in a tree, by hand, and a place that depends on the data."""
    row = sa.Shared[float, 16]()
    order = sa.Shared[int, 16]()
    k = sa.thread_id() % 16
    row[k] = x * x
    order[k] = (5 * k + 3) % 16
    sa.barrier()
    other = row[order[k]]
    sa.barrier()
    step = 8
    for _ in range(4):
        if k < step:
            row[k] += row[k + step]
        sa.barrier()
        step = step // 2
    return x * other / (1.0 + row[0])
