import slangad as sa
from slangad import Array, float3


@sa.differentiable
def f(x: float, v: float3, n: int) -> float:
    j = Array[float, 3](x, x)
    k = Array[float, 2](v, v)
    l = Array[float](x)
    m = Array[3, float](x)
    s = sa.zeros(3)
    t = sa.zeros(x)
    u = sa.zeros()
    w = sa.copy()
    y = len(x)
    z = len(v, v)
    aa = Array[float, 0]()
    ab = Array[float, n](x)
    ac = x[float, 2](x)
    return x
