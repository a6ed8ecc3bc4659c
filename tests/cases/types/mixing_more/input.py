import slangad as sa
from slangad import bool3, double3, float2, float2x2, float3, half3, int3, uint3


@sa.struct
class Ball:
    radius: float


@sa.differentiable
def f(
    x: float, h: sa.half, d: sa.double, n: int, u: sa.uint, b: bool, v: float3, w: float2, m: float2x2, ball: Ball
) -> float:
    a01 = x if b else v
    a02 = x if b else h
    a03 = ball == ball
    a04 = m == m
    a05 = b < b
    a06 = x == b
    a07 = x < v
    a08 = v < w
    a09 = u < n
    a10 = +ball
    a11 = not x
    a12 = -ball
    a13 = n % 0
    a14 = 1 // 0
    a15 = x % b
    a16 = m % m
    a17 = h * 2.0 + x
    a18 = (x, x) + (x, x)
    a19 = u + 0.5
    return x
