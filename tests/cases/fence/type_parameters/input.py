import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y: float = [x]
    for i in [1, 2]:
        y += i
    while {1}:
        y += 1.0
    y += (yield)
    return y
