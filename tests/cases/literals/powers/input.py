import slangad as sa
from slangad import float2

TWO = 2
EXPONENT = 0.5


@sa.differentiable
def f(x: float, v: float2, n: int, y: float, h: sa.half) -> float:
    a = x**2
    b = (x - 2.0) ** 2
    c = x**3 + x**4 + x**5 + x**7 + x**8
    d = x**0 + x**1
    e = x**-1 + x**-2 + (x + 1.0) ** -3
    g = x**0.5
    i = x**y
    j = v**2 + v**0.5
    k = n**2 + n**3
    l = n**-1
    m = h**2 + h**0.5
    o = x**TWO + x**EXPONENT
    p = 2**y + 2.0**x
    q = pow(x, 2) + pow(x, 0.5) + sa.pow(x, 3) + sa.pow(x, y)
    r = (-x) ** 2 - x**2
    s = x**2.0
    t = x ** float(n)
    return a + b + c + d + e + g + i + j.x + k + l + float(m) + o + p + q + r + s + t
