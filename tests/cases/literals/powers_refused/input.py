import slangad as sa


@sa.differentiable
def f(x: float, n: int, u: sa.uint, b: bool) -> float:
    a = x**n
    c = x**u
    d = n**n
    e = x**65
    g = x ** (n + 1)
    h = b**2
    i = x**b
    j = (-1.0) ** 0.5
    k = pow(x, n)
    m = sa.float2x2(x) ** 2
    o = 2**n
    x **= n
    return x
