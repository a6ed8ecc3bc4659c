"""Stores into parts of vectors that are stored again elsewhere."""

import slangad as sa
from slangad import Each, float2, float3


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
