import slangad as sa


@sa.differentiable(derivative=sa.finite_difference(step=-1.0))
def f(x: float) -> float:
    return x
