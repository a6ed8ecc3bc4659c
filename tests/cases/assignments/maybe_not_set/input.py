import slangad as sa


@sa.differentiable
def branch(x: float) -> float:
    if x > 0.0:
        y = x
    return y


@sa.differentiable
def later(x: float) -> float:
    z = y
    y = x
    return z


@sa.differentiable
def never(x: float) -> float:
    y: float
    return y


@sa.differentiable
def itself(x: float) -> float:
    y = y + x
    y += 1.0
    return y


@sa.differentiable
def part(x: float) -> float:
    v.x = x
    v = sa.float3(x)
    return v.x


@sa.differentiable
def nested(x: float) -> float:
    if x > 0.0:
        if x > 1.0:
            y = x
        else:
            y = 2.0
    elif x < -1.0:
        y = 3.0
    return y
