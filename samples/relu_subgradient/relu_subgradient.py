"""The slope of a rectifier at its kink is a choice: 0.5 here."""

import slangad as sa


@sa.differentiable(derivative=sa.subgradient(at=0.0, value=0.5))
def rectified(x: float) -> float:
    """x where it is positive, else 0."""
    return max(x, 0.0)


@sa.differentiable
def leaky(x: float, slope: float) -> float:
    """A rectifier that lets a little through."""
    return rectified(x) - slope * rectified(-x)
