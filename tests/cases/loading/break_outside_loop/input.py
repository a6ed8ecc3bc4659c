import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    if x > 0.0:
        break
    return x
