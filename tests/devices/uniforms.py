"""Kernels with uniforms of every layout."""

import slangad as sa
from slangad import Array, Each, Uniform, float2, float2x3, float3, float3x3, half, half2x2, half3, int2


@sa.struct
class Inner:
    a: float3
    b: Array[float2, 2]


@sa.struct
class Outer:
    k: half
    v: Array[Inner, 2]
    m: float2x3
    h: half3
    n: int


@sa.struct
class Switch:
    on: bool
    m: float2x3


@sa.kernel
def weigh(
    x: Each[float],
    u: Uniform[Outer],
    m: Uniform[float3x3],
    a: Uniform[Array[float, 3]],
    i: Uniform[int2],
    c: Uniform[half],
    s: Uniform[Switch],
) -> Each[float]:
    r = x * float(u.k) + 2.0 * u.v[1].a.y + 3.0 * u.v[0].b[1].x + 5.0 * u.m[1][2] + 7.0 * float(u.h.z) + float(u.n)
    q = m[1][2] + 2.0 * a[2] + 5.0 * float(c) + 7.0 * float(i.y) + s.m[1][0]
    return r * q if s.on else x


@sa.kernel
def stacked(x: Each[float], t: Uniform[Array[float2x3, 2]]) -> Each[float]:
    return x * t[1][0][2]


@sa.struct
class Rows:
    g: half2x2
    w: Array[half3, 2]
    k: half
    s: Array[half, 3]


@sa.kernel
def rows(x: Each[float], g: Uniform[half2x2], w: Uniform[Array[half3, 2]], r: Uniform[Array[Rows, 2]]) -> Each[float]:
    a = float(g[1][0]) + 2.0 * float(w[1].y)
    return x * (a + 3.0 * float(r[1].g[0][1]) + 5.0 * float(r[0].w[1].z) + 7.0 * float(r[1].k) + float(r[1].s[2]))
