import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y = x
    del y
    return x
