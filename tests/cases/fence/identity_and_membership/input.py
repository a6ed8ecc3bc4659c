import slangad as sa


@sa.differentiable
def f(x: float, y: float) -> float:
    if x is y:
        return 0.0
    if x is not y:
        return 1.0
    if x in (1.0, 2.0):
        return 2.0
    if x not in (1.0, 2.0):
        return 3.0
    return x
