"""A network with an activation that nobody has built in, and a derivative of its own."""

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param


@sa.differentiable
def bump(x: float) -> float:
    """A smooth rectifier: x / (1 + exp(-2 x))."""
    return x * sa.sigmoid(2.0 * x)


@bump.backward
def bump_bwd(x, d_out):
    s = sa.sigmoid(2.0 * x)
    return d_out * s * (1.0 + 2.0 * x * (1.0 - s))


Net = sa.nn.MLP([1, 4, 1], activation=bump)


@sa.kernel
def mismatch(x: NoDiff[Each[float]], seen: NoDiff[Each[float]], net: Param[Net]) -> Mean[float]:
    """The squared error of a curve."""
    return (net(Array[float, 1](x))[0] - seen) ** 2
