import slangad as sa

SIZE = 4


@sa.differentiable
def f(x: float) -> float:
    sa.static_assert(SIZE == 4, "the size is four")
    sa.static_assert(SIZE > 2 and True)
    return x


@sa.differentiable
def g(x: float) -> float:
    sa.static_assert(SIZE == 5, "the size must be five")
    sa.static_assert(SIZE < 0)
    sa.static_assert(x > 0.0, "positive")
    sa.static_assert()
    y = sa.static_assert(True)
    return x
