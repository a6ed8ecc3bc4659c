import slangad as sa
from slangad import float2, float3


@sa.struct
class Ball:
    radius: float


@sa.differentiable
def f(x: float, n: int, v: float3) -> float:
    a = 0
    a = v
    b = True
    b = 1.0
    c = v
    c = float2(1.0)
    d = n
    d = sa.uint(3)
    e = sa.half(1.0)
    e = x
    x = v
    n = 0.5
    g = Ball(x)
    g = x
    h = x, x
    h = x
    i = (x, v)
    i = (v, x)
    return x
