import slangad as sa
from slangad import float3


@sa.struct
class A:
    x: float3 = 1.0
    n: int = 0.5
    m: float = "a"


@sa.differentiable
def f(x: float) -> float:
    a = A()
    return a.x.y
