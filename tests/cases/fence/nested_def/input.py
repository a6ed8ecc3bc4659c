import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    def g(y):
        return y * 2.0

    return g(x)
