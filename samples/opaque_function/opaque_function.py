"""A function whose inside is hidden, such as a call of a library: its derivative is a finite difference."""

import slangad as sa


@sa.differentiable(derivative=sa.finite_difference(step=1e-2), ranges={"x": (-3.0, 3.0)})
def measured(x: float) -> float:
    """A response curve; imagine that hardware computes it."""
    return x * sa.exp(-0.5 * x * x)


@sa.differentiable(ranges={"x": (-3.0, 3.0), "gain": (0.5, 2.0)})
def exposed(x: float, gain: float) -> float:
    """Automatic around the hidden part."""
    return gain * measured(gain * x) + x
