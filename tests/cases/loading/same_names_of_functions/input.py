import slangad as sa
from slangad import Each


@sa.differentiable
def f(x: float) -> float:
    return x


first = f


@sa.differentiable
def f(x: float) -> float:
    return first(x) * 2.0


@sa.kernel
def k(x: Each[float]) -> Each[float]:
    return f(x) + first(x)
