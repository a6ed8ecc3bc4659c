import slangad as sa
from slangad import float2, float3, float4, int3


@sa.differentiable
def f(v: float4, n: int3) -> float:
    a = v.xyzw.wzyx
    b = v.rgb.bgr
    c = v.xx + v.wz
    d = n.zyx
    e = float4(c, v.x, 1)
    g = float3(v.x, n.yz)
    h = float4(1.0)
    h.xy = c
    h.zw += 1.0
    h.a *= 2.0
    return a.x + b.y + d.z + e.w + g.y + h.x
