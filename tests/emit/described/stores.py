"""Stores into parts of vectors, and of elements of arrays, that are stored again elsewhere."""

import slangad as sa
from slangad import Array, Each, float2, float3


@sa.kernel
def again_in_a_branch(a: Each[float2], b: Each[float2]) -> Each[float]:
    v = sa.copy(b)
    v.x = sa.cos(a.x)
    v.y += a.y
    if a.y < 0.5 + a.x:
        v = float2(5.0, a.y)
    return v.y * v.x + a.y * v.x


@sa.kernel
def part_in_a_branch(a: Each[float2], b: Each[float2]) -> Each[float]:
    v = sa.cos(a)
    if b.x > 0.0:
        v.x = 5.0
        v.yx = v * b
    return v.y * v.x + a.y * v.x


@sa.kernel
def at_an_index(a: Each[float3], k: Each[int]) -> Each[float]:
    v = sa.sin(a)
    v[k] = a.x * a.y
    if a.z > 0.0:
        v[k] *= a.z
        v[1] = v[k] + a.x
    return sa.dot(v, a)


@sa.kernel
def in_a_loop(a: Each[float3], b: Each[float]) -> Each[float]:
    v = float3(0.0, 1.0, b)
    for i in range(4):
        v.xz = float2(v.y, v.x) * a.xy + 0.1 * i
        if v.x > b:
            v.y = v.x * b
    return sa.dot(v, a)


@sa.kernel
def before_a_ternary(a: Each[float2], b: Each[float2]) -> Each[float]:
    v = sa.copy(b)
    v.x = sa.cos(a.x)
    w = v if a.y > 0.0 else float2(5.0, a.x)
    w = w * v.x if b.x > 0.0 else w
    return w.x * w.y + v.x


@sa.struct
class Bounce:
    k: float
    way: float2


@sa.kernel
def parts_of_vectors_in_arrays(a: Each[float2], b: Each[float2]) -> Each[float]:
    p = Array[float2, 2](a, b)
    t = Array[float2, 2](b, a * b)
    if a.x > b.x:
        p[0].x -= 1.5
        t[0].x *= 0.5
    return t[0].x * b.y / (sa.abs(p[0].x) + 0.5) + t[1].y * p[1].y


@sa.kernel
def parts_of_arrays_in_arrays(a: Each[float2], b: Each[float2]) -> Each[float]:
    p = Array[Array[float, 2], 2](Array[float, 2](a.x, b.x), Array[float, 2](a.y, b.y))
    t = Array[Array[float, 2], 2](Array[float, 2](b.x, a.y), Array[float, 2](a.x, 2.0))
    if a.x > b.x:
        p[0][0] -= 1.5
        t[0][0] *= a.y
    return t[0][0] / (sa.abs(p[0][0]) + 0.5) + t[1][0] * p[1][1] * b.y


@sa.kernel
def parts_of_structs_in_arrays(a: Each[float2], b: Each[float2]) -> Each[float]:
    p = Array[Bounce, 2](Bounce(a.x, b), Bounce(b.y, a))
    t = Array[Bounce, 2](Bounce(b.x, a), Bounce(a.y, b))
    for i in range(3):
        p[0].k -= 0.5 * a.x
        t[i % 2].way.x *= 0.5
        if p[0].k < t[0].k:
            t[1].k += p[1].k * b.x
    return t[0].way.x * t[1].k / (sa.abs(p[0].k) + 0.5) + p[1].way.y
