import math

import slangad as sa


@sa.differentiable
def f(x: float, h: sa.half) -> float:
    a = 1e400
    b = math.inf
    c = -math.inf
    d = math.nan
    e = float(1e39)
    g = 1e-60
    i = h + 1e6
    j = x < math.inf
    return x + a + b + c + d + e + g
