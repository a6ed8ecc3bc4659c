import slangad as sa
from slangad import float3, int2


@sa.differentiable
def f(x: float, n: int, v: float3, b: bool) -> float:
    c = 0.0 < x < 1.0 < 2.0 + x
    d = 0 <= n < 10
    g = x if c else 2.0 if d else x * x
    h = (x > 0.0 and n > 1) or (not b and x < -1.0)
    i = v if h else -v
    j = any(v > 0.0) and all(v < 1.0)
    k = 1 if b else 0.5
    l = 1 if b else 2
    return g + i.x + k + l + (1.0 if j else 0)
