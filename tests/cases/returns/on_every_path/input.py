import slangad as sa


@sa.differentiable
def a(x: float) -> float:
    if x > 0.0:
        return x
    else:
        return -x


@sa.differentiable
def b(x: float) -> float:
    if x > 0.0:
        if x > 1.0:
            return 1.0
        else:
            return x
    elif x < -1.0:
        return -1.0
    else:
        y = 2.0
    return y


@sa.differentiable
def c(x: float, n: int) -> float:
    for i in sa.range(n, max_iters=4):
        if x > i:
            return x
    else:
        return 2.0 * x
    return 0.0


@sa.differentiable
def d(x: float) -> float:
    for i in range(4):
        if x > 0.0:
            break
        x += 0.5
    else:
        return 0.0
    return x


@sa.differentiable
def unreachable(x: float) -> float:
    return x
    y = x * 2.0
    return y


@sa.differentiable
def e(x: float) -> float:
    for i in range(4):
        x *= 1.5
    else:
        return x
