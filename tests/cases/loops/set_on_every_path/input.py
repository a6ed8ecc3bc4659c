import slangad as sa


@sa.differentiable
def runs(x: float) -> float:
    for i in range(3):
        y = x * i
    return y


@sa.differentiable
def broken(x: float) -> float:
    for i in range(3):
        y = x
        if x > i:
            break
    return y


@sa.differentiable
def either(x: float) -> float:
    for i in range(3):
        if x > i:
            y = x
            break
    else:
        y = -x
    return y


@sa.differentiable
def endless(x: float) -> float:
    while sa.max_iters(9):
        y = x
        x = x * 0.5
        if x < 1.0:
            break
    return y


@sa.differentiable
def continued(x: float) -> float:
    for i in range(3):
        y = x
        if x > i:
            continue
        x += 1.0
    return y
