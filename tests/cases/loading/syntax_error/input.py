import slangad as sa


@sa.differentiable
def f(x: float) -> float
    return x
