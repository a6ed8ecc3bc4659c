import slangad as sa


@sa.differentiable
def f(*xs: float) -> float:
    return xs[0]


@sa.differentiable
def g(x: float, **options: float) -> float:
    return x
