import slangad as sa

missing = sa.extern("noise", "missing.slang", "(x: float) -> float")


@sa.differentiable
def f(x: float) -> float:
    return missing(x)
