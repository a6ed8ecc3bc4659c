import slangad as sa
from slangad import float3


@sa.differentiable
def g(x: float, y: float, n: int = 2) -> float:
    return x * y * n


@sa.differentiable
def f(x: float, v: float3) -> float:
    a = g(x)
    b = g(x, x, 1, 2)
    c = g(x, z=x)
    d = g(x, x=x, y=x)
    e = g(v, x)
    h = g(x, x, 0.5)
    i = g(x, x, x)
    j = g(x, y=v)
    k = g()
    l = g(y=x)
    m = g(v, v)
    n = g(xx, yy)
    return x
