import math

import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y = xx + math.sinn(x)
    return sa.dott(y, y) + sine(x)
