import slangad as sa


@sa.differentiable
def f(x: float, /, y: float, *, z: float = 1.0) -> float:
    return x * y * z


@sa.differentiable
def g(x: float) -> float:
    a = f(x, x, x)
    b = f(x=x, y=x)
    c = f(x, y=x, z=x)
    return a
