import slangad as sa
from slangad import Each


@sa.kernel
def k(x: Each[float]) -> Each[float]:
    return x


@sa.kernel
def m(x: Each[float]) -> Each[float]:
    return k(x)


@sa.differentiable
def f(x: float) -> float:
    return k(x)
