"""Functions without decorator are fenced when they are reached."""

import slangad as sa


def helper(x: float) -> float:
    return max([x, 1.0])


def unused(x):
    return [x]


@sa.differentiable
def f(x: float) -> float:
    return helper(x)
