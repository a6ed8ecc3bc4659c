import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    g = lambda y: y * 2.0
    return g(x)
