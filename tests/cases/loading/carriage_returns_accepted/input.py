import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    """Documentation.

    More.
    """
    # A comment.
    y = x * 2.0
    if y > 1.0:
        # Another.
        return y
    return x
