"""A custom derivative that leaves most of the work to automatic differentiation."""

import slangad as sa
from slangad import float3


@sa.differentiable(ranges={"x": (-2.0, 2.0)})
def falloff(x: float) -> float:
    """A curve whose derivative is automatic."""
    return sa.exp(-x * x) * (1.0 + 0.5 * sa.sin(3.0 * x))


@sa.differentiable(ranges={"p": (-2.0, 2.0), "radius": (0.3, 2.0)})
def glow(p: float3, radius: float) -> float:
    """The light around a point; the derivative of the distance is safe at the point itself."""
    return falloff(sa.length(p) / radius)


@glow.backward
def glow_bwd(p: float3, radius: float, d_out: float) -> tuple[float3, float]:
    distance = sa.length(p)
    d_ratio = sa.bwd_diff(falloff)(distance / radius, d_out)
    direction = p / max(distance, 1e-6)
    return direction * (d_ratio / radius), -d_ratio * distance / (radius * radius)
