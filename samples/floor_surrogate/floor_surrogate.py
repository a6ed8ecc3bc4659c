"""Quantise to steps, and still learn: the gradient is that of something smooth.

``hard`` steps; ``soft`` lends it a slope. ``level`` uses the identity's slope: straight-through.
"""

import slangad as sa


@sa.differentiable
def soft(x: float) -> float:
    """A staircase with rounded steps."""
    return x - 0.9 * sa.sin(6.28318531 * x) / 6.28318531


@sa.differentiable(derivative=sa.surrogate(soft))
def hard(x: float) -> float:
    """The integer at or below x."""
    return sa.floor(x)


@sa.differentiable(derivative=sa.straight_through())
def level(x: float) -> float:
    """One of eight levels."""
    return sa.round(x * 8.0) / 8.0


@sa.differentiable(ranges={"x": (0.1, 3.0), "gain": (0.5, 2.0)})
def printed(x: float, gain: float) -> float:
    """A tone that a printer can print."""
    return level(hard(gain * x) * 0.25) * gain
