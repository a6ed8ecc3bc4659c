import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    # A comment.
    y = x * 2.0
    if y > 1.0:
        return y
    return unknown
