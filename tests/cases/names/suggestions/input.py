import slangad as sa

STRENGTH = 2.0


@sa.differentiable
def bright(x: float) -> float:
    return x * STRENGHT


@sa.differentiable
def f(value: float) -> float:
    total = brigth(valeu)
    return totl
