import slangad as sa
from slangad import Array, float3


@sa.differentiable
def f(x: float, n: int) -> float:
    a: float = 0
    b: int = 0.5
    c: float3 = x
    d: Array[float, 2]
    e: Array[float, n] = d
    g: str = x
    x: int = 0
    a = float3(x)
    h: undefined = x
    i: sa.half = 1.5
    n: int = 3
    return a
