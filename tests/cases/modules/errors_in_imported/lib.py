import slangad as sa


@sa.differentiable
def broken(x: float) -> float:
    return [x] + y
