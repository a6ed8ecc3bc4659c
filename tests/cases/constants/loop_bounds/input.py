import slangad as sa

BANDS = 12
FIRST = 3


@sa.differentiable
def summed(x: float) -> float:
    total = 0.0
    for k in range(FIRST, BANDS):
        total += x * k
    for k in range(BANDS, 0, -2):
        total -= x * k
    return total


@sa.differentiable
def replayed(x: float) -> float:
    state = x
    for _ in range(BANDS):
        for _ in range(BANDS - FIRST):
            state = sa.sin(state) * x
    return state
