import slangad as sa
from slangad import float2, float3


@sa.differentiable
def f(x: float, v: float3, h: sa.half, n: sa.uint, b: bool) -> float:
    t = sa.dot(v, x)
    u = sa.dot(v)
    w = sa.sin(x, x)
    y = sa.lerp(v, v, float2(x))
    z = max(x)
    a = max(x, h)
    c = sa.sin(n)
    d = sa.sin(b)
    e = sa.cross(float2(x), float2(x))
    g = sa.clamp(x, lo=0.0, high=1.0)
    i = sa.transpose(v)
    j = any(x)
    k = sum(x)
    l = sa.select(x, x, x)
    m = pow(x, v)
    o = abs(b)
    p = round(v, 2)
    return x
