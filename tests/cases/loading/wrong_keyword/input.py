import slangad as sa


@sa.differentiable(prefer="speed")
def f(x: float) -> float:
    return x
