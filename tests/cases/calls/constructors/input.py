import slangad as sa
from slangad import Array, float2, float2x2, float3, int3


@sa.struct
class Ball:
    center: float3
    radius: float


@sa.differentiable
def f(x: float, v: float3, ball: Ball, n: int) -> float:
    a = float3(x, x)
    b = float3(v, x)
    c = float3(ball)
    d = float(v)
    e = float(x, x)
    g = float2(v)
    h = float2x2(x, x, x)
    i = float2x2(v, v)
    o = float3(x=x)
    p = int3(v, 1)
    q = bool(v)
    r = sa.half(ball)
    return x
