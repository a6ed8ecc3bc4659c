"""Names of GLSL, numpy and torch get the name that slangad has."""

import slangad as sa
from slangad import Each, float3


@sa.differentiable
def pick(x: float) -> float:
    return sa.where(x > 0.0, sa.fract(x), 0.0)


@sa.differentiable
def bare(x: float) -> float:
    return relu(x) + clip(x, 0.0, 1.0)  # noqa: F821


@sa.kernel
def shade(n: Each[float3]) -> Each[float]:
    return sa.norm(n)
