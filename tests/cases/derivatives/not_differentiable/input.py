import slangad as sa
from slangad import Each, NoDiff, float3


@sa.function
def lookup(x: float) -> float:
    return x


@sa.function
def whole(n: int) -> float:
    return 1.0 / n


@sa.differentiable
def wrong(x: float, k: NoDiff[float]) -> float:
    return lookup(x) + lookup(k) + lookup(2.0) + whole(3)


@sa.differentiable
def right(x: float, k: NoDiff[float]) -> float:
    y = sa.no_diff(lookup(x)) + lookup(2.0) + whole(3) * x
    return y + x * sa.no_diff(x)
