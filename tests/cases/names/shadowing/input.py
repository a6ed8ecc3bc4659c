import slangad as sa
from slangad import float3

SCALE = 2.0


@sa.differentiable
def length(x: float) -> float:
    return abs(x)


@sa.differentiable
def f(x: float, SCALE: float) -> float:
    return x * SCALE


@sa.differentiable
def g(x: float) -> float:
    f = x * SCALE
    max = f + 1.0
    return max + length(f) + sa.length(float3(x))


@sa.differentiable
def h(x: float, sa: float) -> float:
    return x * sa


@sa.differentiable
def late(x: float) -> float:
    y = SCALE * x
    return y
