import slangad as sa
from slangad import Array


@sa.differentiable
def f(a: Array[float, 4]) -> float:
    b = a[1:3]
    return b[0]
