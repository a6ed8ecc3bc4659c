import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    print(x)
    print("x", x)
    return x
