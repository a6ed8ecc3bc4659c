import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    a = [x]
    assert x
    return (lambda y: y)(x)


@sa.kernel
def k(x: sa.Each[float]) -> sa.Each[float]:
    with x:
        pass
    return x
