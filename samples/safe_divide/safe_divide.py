"""A division that nothing can blow up: the denominator is bounded, the gradient is clipped."""

import slangad as sa

EPSILON = 1e-8


@sa.differentiable(derivative=sa.clip_gradient(1e6))
def safe_divide(numerator: float, denominator: float) -> float:
    """The quotient; denominators below EPSILON count as EPSILON."""
    return numerator / max(denominator, EPSILON)


@sa.differentiable(ranges={"light": (0.0, 4.0), "area": (0.0, 1.0)})
def exposure(light: float, area: float) -> float:
    """Light per area, compressed."""
    e = safe_divide(light, area)
    return e / (1.0 + e)
