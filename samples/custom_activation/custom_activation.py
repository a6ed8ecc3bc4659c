"""An activation that nobody has built in, with a derivative of its own that needs one exponential."""

import slangad as sa
from slangad import float3


@sa.differentiable
def bump(x: float) -> float:
    """A smooth rectifier: x / (1 + exp(-2 x))."""
    return x * sa.sigmoid(2.0 * x)


@bump.backward
def bump_bwd(x: float, d_out: float) -> float:
    s = sa.sigmoid(2.0 * x)
    return d_out * s * (1.0 + 2.0 * x * (1.0 - s))


@sa.differentiable
def neuron(x: float3, weights: float3, bias: float) -> float:
    """One unit of a network."""
    return bump(sa.dot(weights, x) + bias)
