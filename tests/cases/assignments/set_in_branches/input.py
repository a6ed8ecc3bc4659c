import slangad as sa


@sa.differentiable
def both(x: float) -> float:
    if x > 0.0:
        y = x
    else:
        y = -x
    return y


@sa.differentiable
def returning(x: float) -> float:
    if x > 0.0:
        y = x
    elif x < -1.0:
        return 0.0
    else:
        y = -x
    z = 1.0
    if y > 2.0:
        z = 2.0
    return y * z


@sa.differentiable
def different_use(x: float) -> float:
    if x > 0.0:
        y = x * 2.0
        x = y * y
    else:
        y = x * 3.0
        x = y + 1.0
    return x
