import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    with open("data") as file:
        y = x
    return y
