import slangad as sa


@sa.differentiable
def f(v: sa.flaot3) -> float:
    return v.x
