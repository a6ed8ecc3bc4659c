import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    try:
        y = 1.0 / x
    except ZeroDivisionError:
        y = 0.0
    return y
