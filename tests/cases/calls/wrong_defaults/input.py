import slangad as sa
from slangad import float3


@sa.differentiable
def f(x: float = "a", n: int = 0.5, v: float3 = 1.0, w: float = None, u: sa.uint = -1) -> float:
    return x


@sa.differentiable
def g(x: float) -> float:
    return f(x) + f()
