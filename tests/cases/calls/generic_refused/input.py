"""Types that the factory refuses, and wrong numbers of arguments."""

import slangad as sa
from slangad import Array, half3


@sa.generic
def total(T):
    @sa.differentiable
    def total(x: T) -> float:
        return x[0] + x[1]

    return total


@sa.differentiable
def f(x: float, a: Array[float, 2], h: half3) -> float:
    return total(a, a) + total(a, y=a) + total(b) + sa.nn.relu(h).x + sa.nn.relu(y=x) + sa.nn.relu(x=x)
