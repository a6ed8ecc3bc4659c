import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y = sa.probe("y", x * x)
    return y
