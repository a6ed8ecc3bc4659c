"""A tone curve and how far it is from a target."""

import slangad as sa
from slangad import Each, NoDiff, Uniform

EPS = 1.0e-6


@sa.differentiable(ranges={"k": (0.1, 4.0)})
def curve(x: float, k: float) -> float:
    """Reinhard's, sharper."""
    return x**2 / (x**2 + k + EPS)


@sa.kernel
def fit(x: Each[float], target: NoDiff[Each[float]], k: Uniform[float]) -> Each[float]:
    # the residual
    r = curve(x, k) - target

    # squared
    return r * r
