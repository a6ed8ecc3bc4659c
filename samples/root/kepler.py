"""Differentiates the solution of an equation, not the iterations that found it.

Kepler's equation ``E - e sin E = M`` is solved by Newton's method; the derivatives of the solution come from the
implicit function theorem, so they neither cost nor depend on the number of iterations.
"""

import slangad as sa
from slangad import Each

TOLERANCE = 1e-6


@sa.differentiable(ranges={"mean": (0.1, 3.0), "eccentricity": (0.0, 0.8)})
def eccentric_anomaly(mean: float, eccentricity: float) -> float:
    """The angle E with E - e sin E = M."""
    angle = mean + eccentricity * sa.sin(mean)
    step = 1.0
    while sa.max_iters(32) and abs(step) > TOLERANCE:
        step = (angle - eccentricity * sa.sin(angle) - mean) / (1.0 - eccentricity * sa.cos(angle))
        angle -= step
    return angle


@eccentric_anomaly.backward
def eccentric_anomaly_bwd(mean: float, eccentricity: float, d_out: float) -> tuple[float, float]:
    angle = eccentric_anomaly(mean, eccentricity)
    d_mean = d_out / (1.0 - eccentricity * sa.cos(angle))
    return d_mean, d_mean * sa.sin(angle)


@sa.kernel
def distance(mean: Each[float], eccentricity: Each[float]) -> Each[float]:
    """The distance to the focus, in semi-major axes."""
    return 1.0 - eccentricity * sa.cos(eccentric_anomaly(mean, eccentricity))
