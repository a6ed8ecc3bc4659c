import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    a = [x * i for i in range(3)]
    b = {i for i in range(3)}
    c = {i: i for i in range(3)}
    d = sum(x * i for i in range(3))
    return d
