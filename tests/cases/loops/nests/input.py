import slangad as sa
from slangad import float2


@sa.differentiable
def equal_turns(x: float) -> float:
    for i in range(3):
        for j in range(3):
            x = sa.sin(x + i * j)
    return x


@sa.differentiable
def room_for_the_longest(x: float, n: int) -> float:
    for i in range(2):
        for j in range(7, 0, -2):
            x = sa.sin(x + i * j)
        for j in sa.range(n, max_iters=5):
            x = sa.sin(x + i * j)
    return x


@sa.function
def forward_only(x: float) -> float:
    for i in range(2):
        for j in range(7):
            x = sa.sin(x + i * j)
    return x


@sa.differentiable
def far_more_turns_outside(x: float, k: sa.NoDiff[float], offset: float2) -> float:
    n = 0
    for i in range(64):
        total = 0.0
        # The neighbours.
        for j in range(3):
            for at in range(3):
                total += sa.sin(x * k + j * offset.x + at * offset.y)
                if total > 2.0:
                    n += 1
                    break
        x = sa.tanh(x + total * 0.125)
    return x * n


@sa.differentiable
def with_a_return(x: float) -> float:
    for i in range(64):
        for j in range(3):
            x = sa.sin(x)
            if x > 0.5:
                return x
    return x


@sa.function
def table(k: float) -> float:
    return sa.floor(k)


@sa.differentiable
def passive_in_the_inner_loop(x: float, k: sa.NoDiff[float]) -> float:
    step = k * 2.0
    for i in range(64):
        for j in range(3):
            step = sa.sin(table(step) + step)
            k = k * 0.5 + sa.sin(0.5)
            x = sa.sin(x + step * k)
    return x + table(step) + table(k)
