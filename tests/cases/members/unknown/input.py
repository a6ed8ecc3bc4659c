import slangad as sa
from slangad import float2, float3


@sa.struct
class Ball:
    center: float3
    radius: float


@sa.differentiable
def f(ball: Ball, v: float3, x: float) -> float:
    a = ball.centre
    b = ball.volume()
    c = v.w
    d = v.xg
    e = v.xyzxy
    g = x.x
    h = v.length()
    i = ball.radius.x
    j = v.shape
    k = float2(x).z
    return x
