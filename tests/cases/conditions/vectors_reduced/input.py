import slangad as sa
from slangad import float3


@sa.differentiable
def f(x: float, v: float3, w: float3) -> float:
    if any(v > w):
        return x
    if all(v == w) and not any(v < 0.0):
        return 2.0 * x
    if 0.0 < x < 1.0:
        return 3.0
    if 0.0 < x <= v.x < 1.0:
        return 4.0
    if True:
        return 5.0
    return 6.0
