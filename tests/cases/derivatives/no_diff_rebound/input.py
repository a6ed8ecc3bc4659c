import slangad as sa
from slangad import NoDiff, float3


@sa.differentiable
def f(x: float, k: NoDiff[float], v: NoDiff[float3]) -> float:
    k = k * x
    for i in range(2):
        v = v * k
    return x * k + v.x


@sa.differentiable
def g(x: float, n: NoDiff[int]) -> float:
    n = n + 1
    return x * n
