import slangad as sa
from slangad import Each, NoDiff, float2, float3, float3x3, float4, int2


@sa.differentiable
def turn(v: float3, m: NoDiff[float3x3], k: int2) -> float4:
    w = v.zyx * 2.0 + v[1]
    w.xz = v.xy
    w = m @ w + sa.cross(v, w)
    corner = float2(k) / 2.0
    return float4(corner.yx, w.r, m[0, 2] + m[1].y) * sa.length(v)


@sa.kernel
def run(v: Each[float3], m: Each[float3x3], k: Each[int2]) -> Each[float4]:
    return turn(v, m, k)
