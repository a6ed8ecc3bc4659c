import slangad as sa


@sa.differentiable
def square(x: float) -> float:
    return x * x


@sa.differentiable
def slope(x: float) -> float:
    return sa.bwd_diff(square)(x, 1.0)


@sa.differentiable
def deeper(x: float) -> float:
    return slope(x) * x


@sa.function
def curvature(x: float) -> float:
    return sa.bwd_diff(slope)(x, 1.0) + sa.bwd_diff(deeper)(x, 1.0)
