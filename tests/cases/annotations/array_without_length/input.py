import slangad as sa
from slangad import Array


@sa.differentiable
def f(a: float, b: Array[float]) -> float:
    return a
