import slangad as sa
from slangad import Array


@sa.differentiable
def never(x: float) -> float:
    for i in range(3, 3):
        y = x
    return x * i


@sa.differentiable
def maybe(x: float, n: int) -> float:
    for i in sa.range(n, max_iters=8):
        y = x
    return y * i


@sa.differentiable
def while_loop(x: float) -> float:
    while sa.max_iters(3) and x < 2.0:
        y = x
        x += 1.0
    return y


@sa.differentiable
def broken(x: float) -> float:
    for i in range(3):
        if x > i:
            break
        y = x
    return y


@sa.differentiable
def continued(x: float) -> float:
    for i in range(3):
        if x > i:
            continue
        y = x
    return y


@sa.differentiable
def in_else(x: float) -> float:
    for i in range(3):
        if x > i:
            break
    else:
        y = x
    return y


@sa.differentiable
def next_turn(x: float) -> float:
    for i in range(3):
        if i > 0:
            x += y
        y = x
    return x
