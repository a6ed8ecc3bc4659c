import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    assert x > 0.0, "positive"
    return x
