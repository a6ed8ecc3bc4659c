import slangad as sa


@sa.differentiable
def g(x: float) -> float:
    return x


@sa.differentiable
def f(x: float) -> float:
    x + 1.0
    g(x)
    x
    return x
