import slangad as sa


@sa.differentiable
def g(x: float, y: float) -> float:
    return x * y


@sa.differentiable
def f(v: sa.float2) -> float:
    return g(*v)


@sa.differentiable
def h(v: sa.float2) -> float:
    return g(**v)
