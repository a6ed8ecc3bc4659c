import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    yield x
    yield from f(x)
    return x
