"""A hard edge has no gradient, so nothing would move it. A heuristic gives it one: that of an edge with a width."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2

WIDTH = 0.1


@sa.differentiable
def blurred(distance: float) -> float:
    """The same edge, WIDTH wide."""
    return sa.sigmoid(-distance / WIDTH)


@sa.differentiable(derivative=sa.surrogate(blurred))
def visible(distance: float) -> float:
    """1 inside, 0 outside."""
    return sa.select(distance < 0.0, 1.0, 0.0)


@sa.kernel(ranges={"radius": (0.3, 0.9)})
def mismatch(at: NoDiff[Each[float2]], seen: NoDiff[Each[float]], radius: Param[float]) -> Mean[float]:
    """The error of the image of a disc, whose radius is to be found."""
    return (visible(sa.length(at) - radius) - seen) ** 2
