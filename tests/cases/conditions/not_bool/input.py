import slangad as sa
from slangad import float3


@sa.differentiable
def f(x: float, n: int, v: float3) -> float:
    if x:
        return 1.0
    if n:
        return 2.0
    if v > 0.0:
        return 3.0
    if x and n:
        return 4.0
    if not x:
        return 5.0
    if x > 0.0 or n:
        return 6.0
    y = 1.0 if x else 2.0
    while sa.max_iters(3) and x:
        y += 1.0
    if v:
        return 7.0
    if 1:
        return 8.0
    if v < v < v:
        return 9.0
    return y
