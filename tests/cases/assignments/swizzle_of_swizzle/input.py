"""A swizzle is a new vector: a store into one changes nothing in Python, so there is no such store."""

import slangad as sa
from slangad import float2, float2x2, float3


@sa.differentiable
def f(v: float3, m: float2x2) -> float3:
    w = sa.copy(v)
    n = sa.copy(m)
    w.xyz.x = 2.0
    w.zyx.xy = float2(2.0, 3.0)
    w.yz.x += 2.0
    w.xyz[1] = 2.0
    n[0].yx.x *= 3.0
    n[0].yx = w.xy
    return w
