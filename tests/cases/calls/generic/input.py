"""A generic function is described for each combination of types that it is called with."""

import slangad as sa
from slangad import Array, float3


@sa.generic
def mean_square(T, S):
    @sa.differentiable
    def mean_square(x: T, scale: S) -> float:
        total = 0.0
        for i in range(len(x)):
            total += x[i] * x[i]
        return total * float(scale) / len(x)

    return mean_square


@sa.generic
def twice(T):
    @sa.differentiable
    def twice(x: T) -> T:
        return x + x

    return twice


@sa.differentiable
def f(v: float3, a: Array[float, 5], n: int) -> float:
    return mean_square(v, 2) + mean_square(a, 0.5) + mean_square(twice(twice(v)), n) + twice(1)
