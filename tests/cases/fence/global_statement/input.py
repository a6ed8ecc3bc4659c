import slangad as sa

COUNT = 0


@sa.differentiable
def f(x: float) -> float:
    global COUNT
    COUNT = 1
    return x
