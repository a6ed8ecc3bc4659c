import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    class Box:
        y: float

    return x
