import slangad as sa
from slangad import float3


@sa.differentiable
def f(x: float, n: int, v: float3, b: bool) -> float:
    e = n == 3 != b
    g = 0.0 < v < 1.0
    h = x < b
    return x
