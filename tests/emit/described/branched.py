"""Reads at indices that branches give, in loops: the context of reverse mode must hold what was read there."""

import slangad as sa
from slangad import Array, Each, NoDiff, float4, float4x4


@sa.struct
class Layer:
    weights: Array[float, 4]
    scale: float


@sa.kernel
def ring(a: Each[Array[float, 4]]) -> Each[float]:
    s = 0.0
    for i in range(4):
        j = i + 1 if i + 1 < 4 else 0
        d = a[j]
        s += d * d
    return s


@sa.kernel
def within(a: Each[Array[float, 4]], x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(4):
        s += a[i + 1 if i + 1 < 4 else 0] * x
    return s * s


@sa.kernel
def passive(a: NoDiff[Each[Array[float, 4]]], x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(4):
        j = 0
        if i + 1 < 4:
            j = i + 1
        s += a[j] * x * x
    return s * s


@sa.kernel
def by_way_of_another(a: Each[Array[float, 4]], x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(4):
        k = i + 1 if i + 1 < 3 else 0
        j = k + 1
        s += sa.sin(a[j] * x)
    return s * s


@sa.kernel
def compared(a: Each[Array[float, 4]], x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(4):
        j = i + 1 if i + 1 < 4 else 0
        s += a[0] * x * (2.0 if a[j] > 0.5 else 1.0)
    return s * s


@sa.kernel
def components(v: Each[float4], w: NoDiff[Each[float4]], x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(4):
        j = i + 1 if i + 1 < 4 else 0
        s += v[j] * w[j] * x
    return s * s


@sa.kernel
def entries(m: Each[float4x4], n: NoDiff[Each[float4x4]]) -> Each[float]:
    s = 0.0
    for i in range(4):
        j = i + 1 if i + 1 < 4 else 0
        s += m[j, i] * n[j, 1] * m[i, j]
    return s * s


@sa.kernel
def fields(p: Each[Layer], x: Each[float], n: Each[int]) -> Each[float]:
    s = 0.0
    for i in sa.range(n + 2, max_iters=4):
        j = i - 1 if i > 0 else 3
        s += p.weights[j] * x * p.scale * (1.0 + s)
    return s


@sa.kernel
def nested(a: NoDiff[Each[Array[Array[float, 4], 4]]], x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(4):
        j = i + 1 if i + 1 < 4 else 0
        s += a[j][i] * x * x
    return s * s
