import math

import slangad as sa


@sa.differentiable
def f(x: float, h: sa.half, d: sa.double) -> float:
    x += 0.1
    x += 1e-7
    x += 1e30
    x += 3.4e38
    x += -0.0
    x += math.pi
    x += math.e
    x = x * 1e-45
    h = h * 0.1 + 2
    d = d * 0.1 + 1e-300
    d = d + math.pi
    x = x + 2.5e10 + .5 + 5.
    x = x * (1 / 3)
    x = x + 2.0**0.5 + 2**-1
    return x + float(h) + float(d)
