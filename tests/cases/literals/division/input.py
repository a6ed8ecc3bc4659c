import slangad as sa
from slangad import int2


@sa.differentiable
def f(x: float, n: int, m: int, u: sa.uint, w: int2) -> float:
    a = n / m
    b = n // m
    c = n % m
    d = x // 2.0
    e = x % 3
    g = u // 3
    h = u % 3
    i = w // 2
    j = w / 2
    k = sa.fmod(x, 3.0)
    l = -7 // 2 + -7 % 3
    o = x / n
    p = u / 2
    return a + b + c + d + e + float(g) + float(h) + i.x + j.x + k + l + o + float(p)
