import slangad as sa
from slangad import bool3, double3, float2, float2x2, float3, half3, int3, uint3


@sa.struct
class Ball:
    radius: float


@sa.differentiable
def f(
    x: float, h: sa.half, d: sa.double, n: int, u: sa.uint, b: bool, v: float3, w: float2, m: float2x2, ball: Ball
) -> float:
    a01 = x + h
    a02 = x * d
    a03 = h - d
    a04 = n + u
    a05 = b + x
    a06 = b * b
    a07 = v + w
    a08 = v * m
    a09 = ball + ball
    a10 = x + ball
    a11 = u * x
    a12 = -b
    a13 = ~x
    a14 = x & n
    a15 = b & b
    a16 = x << n
    a17 = v @ v
    a18 = m @ v
    return x
