import slangad as sa


@sa.diferentiable
def f(x: float) -> float:
    return x
