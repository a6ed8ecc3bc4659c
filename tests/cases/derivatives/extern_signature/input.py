import slangad as sa

broken = sa.extern("noise", "noise.slang", "(x: flaot) -> float")


@sa.differentiable
def f(x: float) -> float:
    return broken(x)
