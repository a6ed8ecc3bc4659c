"""A gradient stops where you say so: at a parameter, or at an expression."""

import slangad as sa
from slangad import NoDiff


@sa.differentiable(ranges={"x": (0.1, 2.0), "scale": (0.5, 2.0)})
def relative_error(x: float, seen: NoDiff[float], scale: float) -> float:
    """The denominator is a weight, not something to learn: training must not make it large."""
    error = scale * x - seen
    weight = sa.no_diff(1.0 / (x * x + 0.01))
    return error * error * weight
