import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    if (y := x * 2.0) > 1.0:
        return y
    return x
