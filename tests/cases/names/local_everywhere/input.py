import slangad as sa

SCALE = 2.0


@sa.differentiable
def f(x: float) -> float:
    y = SCALE * x
    SCALE = 3.0
    return y * SCALE


@sa.differentiable
def g(x: float) -> float:
    y = max(x, 1.0)
    max = 2.0
    return y * max
