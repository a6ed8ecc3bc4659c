# flags: --targets cpp spirv
"""Functions that are accurate where the obvious formula is not, and activations."""

import math

import slangad as sa
from slangad import Each, float3


@sa.differentiable
def activations(x: float, v: float3) -> float:
    s = sa.relu(x) + sa.sigmoid(x) + sa.softplus(x) + sa.mix(x, 2.0, 0.25)
    return s + sum(sa.relu(v)) + sum(sa.sigmoid(v))


@sa.differentiable
def accurate(x: float, y: float) -> float:
    return sa.erf(x) + math.erf(y) + sa.log1p(x * x) + math.expm1(y) + sa.hypot(x, y, 2.0) + math.hypot(x, y)


@sa.kernel
def both(x: Each[float], v: Each[float3]) -> Each[float]:
    return activations(x, v) + accurate(x, v.y)
