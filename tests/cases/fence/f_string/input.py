import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    message = f"x is {x}"
    return x
