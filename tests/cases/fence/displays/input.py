import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    a = [x, x]
    b = {1, 2}
    c = {"a": 1}
    return x
