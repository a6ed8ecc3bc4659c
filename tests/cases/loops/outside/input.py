import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y = sa.range(3)
    z = sa.max_iters(3)
    w = enumerate(x)
    return x
