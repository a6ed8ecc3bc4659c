"""Copies of values without gradient, in parts of which something else is stored."""

import slangad as sa
from slangad import Array, Each, NoDiff, float2x2, float3


@sa.struct
class Lobe:
    axis: float3
    weights: Array[float, 3]
    gain: float


@sa.kernel
def vector(p: NoDiff[Each[float3]], w: Each[float3]) -> Each[float]:
    near = sa.copy(p)
    near.x += 0.01
    far = sa.copy(near)
    far.yz = w.xy
    return sa.dot(w, near) + sa.dot(far, far)


@sa.kernel
def matrix(m: NoDiff[Each[float2x2]], w: Each[float]) -> Each[float]:
    near = sa.copy(m)
    near[0, 1] = w * w
    return w * near[0, 0] + near[0, 1] * near[1, 1]


@sa.differentiable
def dot(w: Array[float, 3], x: Array[float, 3]) -> float:
    total = 0.0
    for i in range(3):
        total += w[i] * x[i]
    return total


@sa.kernel
def array(x: NoDiff[Each[Array[float, 3]]], w: Each[Array[float, 3]]) -> Each[float]:
    near = sa.copy(x)
    near[0] += 0.01
    return dot(w, near) - dot(w, x)


@sa.kernel
def struct(lobe: NoDiff[Each[Lobe]], w: Each[Array[float, 3]]) -> Each[float]:
    near = sa.copy(lobe)
    near.axis.x += 0.1
    near.weights[1] = near.gain * w[0]
    return dot(w, near.weights) * near.axis.x + near.gain


@sa.differentiable
def moved(p: NoDiff[float3], w: float3, by: float) -> float:
    q = sa.copy(p)
    if by > 0.5:
        q.y = by * w.x
    return sa.dot(q, w)


@sa.kernel
def in_functions(p: NoDiff[Each[float3]], w: Each[float3]) -> Each[float]:
    return moved(p, w, 0.1) + moved(sa.cos(p), w, w.z)
