import slangad as sa
from slangad import Each


@sa.differentiable
def helper(x: float) -> float:
    return sa.probe("inner", x)


@sa.kernel
def same(x: Each[float]) -> Each[float]:
    y = sa.probe("outer", helper(x))
    z = sa.probe("outer", x)
    return sa.probe("inner", y + z)


@sa.kernel
def once(x: Each[float]) -> Each[float]:
    return helper(x) + helper(2.0 * x)
