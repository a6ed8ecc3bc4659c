import slangad as sa
from slangad import Each, OutTensor, float2


@sa.kernel
def histogram(x: Each[float], w: Each[float], bins: OutTensor[float, 1], counts: OutTensor[int, 1]):
    k = int(x * 255.0)
    bins[k] += w * (1.0 - x)
    if w > 0.0:
        counts[k] += 1


@sa.kernel
def moments(x: Each[float], own: OutTensor[float, 1], sums: OutTensor[float2, 2]):
    own[sa.thread_id()] -= x
    sums[0, 1] += float2(x, x * x)
    sums[1, 1] -= 2


@sa.kernel
def marked(x: Each[float], marks: OutTensor[int, 1], calls: OutTensor[int, 1]) -> Each[float]:
    marks[sa.thread_id()] = int(x)
    calls[sa.thread_id()] += 1
    return x * x
