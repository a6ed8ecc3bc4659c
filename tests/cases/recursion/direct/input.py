import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    if x < 0.0:
        return 0.0
    return f(x - 1.0) + 1.0
