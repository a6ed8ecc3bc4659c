import math

import slangad as sa


@sa.struct
class Ball:
    radius: float

    def area(self) -> float:
        return self.radius


@sa.kernel
def k(x: sa.Each[float]) -> sa.Each[float]:
    return x


@sa.differentiable
def g(x: float) -> float:
    return x


@sa.differentiable
def f(x: float, ball: Ball) -> float:
    a = sa
    b = sa.float3
    c = g
    d = math.sin
    e = Ball
    h = ball.area
    i = k(x)
    j = range(3)
    l = math(x)
    m = Ball.area()
    n = x(3)
    o = (x + 1.0)(3)
    p = sa.Array(x)
    q = sa.Each
    r = max
    return x
