import slangad as sa


@sa.differentiable
def without_break(x: float) -> float:
    for i in range(3):
        x += i
    else:
        x *= 2.0
    return x


@sa.differentiable
def with_break(x: float) -> float:
    for i in range(3):
        if x > 2.0:
            break
        x += i
    else:
        x *= 2.0
    return x


@sa.differentiable
def in_while(x: float) -> float:
    while sa.max_iters(5) and x < 4.0:
        x *= 2.0
        if x > 3.0:
            break
    else:
        x = -x
    return x


@sa.differentiable
def nested(x: float) -> float:
    for i in range(3):
        for j in range(2):
            if x > i + j:
                break
            x += 0.25
        else:
            x += 1.0
            continue
        x -= 0.5
        break
    else:
        x = 0.0
    return x


@sa.differentiable
def no_turn(x: float) -> float:
    for i in range(0):
        if x > 2.0:
            break
    else:
        y = x * 2.0
    return y
