import slangad as sa
from slangad import Each, OutTensor, float3


@sa.kernel
def types(x: Each[float], counts: OutTensor[int, 1], colors: OutTensor[float3, 2], flags: OutTensor[bool, 1]):
    counts[0] += x
    counts[x] += 1
    colors[0] += x
    colors[0, 1].x += x
    flags[0] += True
    counts[0] *= 2
    counts[0] //= 2
