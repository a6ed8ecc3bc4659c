"""Find the orbit of a comet from where it was seen; its derivative is that of the solution of Kepler's equation.

Newton's method solves ``E - e sin E = M``. The derivatives come from the implicit function theorem: they do not
depend on the number of iterations.
"""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2

TAU = 6.28318531


@sa.differentiable(ranges={"mean": (0.1, 3.0), "eccentricity": (0.0, 0.8)})
def eccentric_anomaly(mean: float, eccentricity: float) -> float:
    """The angle E with E - e sin E = M."""
    angle = mean + eccentricity * sa.sin(mean)
    step = 1.0
    while sa.max_iters(32) and abs(step) > 1e-6:
        step = (angle - eccentricity * sa.sin(angle) - mean) / (1.0 - eccentricity * sa.cos(angle))
        angle -= step
    return angle


@eccentric_anomaly.backward
def eccentric_anomaly_bwd(mean: float, eccentricity: float, d_out: float) -> tuple[float, float]:
    angle = eccentric_anomaly(mean, eccentricity)
    d_mean = d_out / (1.0 - eccentricity * sa.cos(angle))
    return d_mean, d_mean * sa.sin(angle)


@sa.struct
class Orbit:
    """An ellipse with the sun in a focus, and where the comet is at the time 0."""

    size: float
    eccentricity: float
    turn: float
    phase: float


@sa.differentiable(ranges={"orbit.size": (0.8, 2.0), "orbit.eccentricity": (0.0, 0.8), "time": (0.0, 1.0)})
def position(orbit: Orbit, time: NoDiff[float]) -> float2:
    """Where the comet is; the period follows from the size by Kepler's third law."""
    mean = orbit.phase + TAU * time / (orbit.size * sa.sqrt(orbit.size))
    angle = eccentric_anomaly(mean, orbit.eccentricity)
    e = orbit.eccentricity
    p = orbit.size * float2(sa.cos(angle) - e, sa.sqrt(1.0 - e * e) * sa.sin(angle))
    c, s = sa.cos(orbit.turn), sa.sin(orbit.turn)
    return float2(c * p.x - s * p.y, s * p.x + c * p.y)


@sa.kernel(ranges={"orbit.size": (0.8, 2.0), "orbit.eccentricity": (0.0, 0.8), "time": (0.0, 1.0)})
def mismatch(orbit: Param[Orbit], time: NoDiff[Each[float]], seen: NoDiff[Each[float2]]) -> Mean[float]:
    """The squared distance of the comet from where it was seen."""
    off = position(orbit, time) - seen
    return sa.dot(off, off)


TRUE = {"size": 1.6, "eccentricity": 0.65, "turn": 0.7, "phase": 0.4}
FIRST = {"size": 1.1, "eccentricity": 0.2, "turn": 0.0, "phase": 0.8}


def sightings() -> tuple[np.ndarray, np.ndarray]:
    """Return times, and noisy positions: nothing is seen on the far half of the orbit."""
    time = np.linspace(0.0, 0.9, 30).astype(np.float32)
    seen = position.map(TRUE, time, device="cpu")
    return time, (seen + np.random.default_rng(0).normal(0.0, 0.02, seen.shape)).astype(np.float32)


def fit(steps: int = 500) -> Any:
    """Return what training gives: the orbit in ``.parameters``, and ``.losses``."""
    return mismatch.train(FIRST, *sightings(), optimizer=sa.Adam(lr=0.02), steps=steps, device="cpu")


def draw(path: str) -> None:
    """Draw the orbit at first, during and after training, and the sightings."""
    import matplotlib.pyplot as plt

    _, seen = sightings()
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    fitted = {f"{steps} steps": fit(steps).parameters["orbit"] for steps in (40, 500)}
    for (label, values), colour in zip({"start": FIRST, **fitted}.items(), ("0.7", "C1", "C0"), strict=True):
        period = float(values["size"]) ** 1.5
        path_ = position.map(values, np.linspace(0.0, period, 400, dtype=np.float32), device="cpu")
        axis.plot(*path_.T, color=colour, label=label, linewidth=2)
    axis.plot(*seen.T, ".", color="black", label="sightings", markersize=5)
    axis.plot(0.0, 0.0, "o", color="gold", markeredgecolor="C1", markersize=14)
    axis.set_aspect("equal")
    axis.set(xticks=[], yticks=[])
    axis.legend(fontsize=9, frameon=False)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "orbit.png")
