"""See into a body: find the density on a grid from the light that rays leave after absorption."""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, float2

SIZE = 48
"""Cells of the density along an axis; the body is the square from -1 to 1."""
SAMPLES = 64
"""Samples along a ray, through the circle of radius 1."""


@sa.differentiable
def density(cells: Tensor[float, 2], p: NoDiff[float2]) -> float:
    """The density at a point, between the cells; never negative."""
    at = (sa.clamp(p, -1.0, 1.0) * 0.5 + 0.5) * (SIZE - 1.0)
    i, j = min(int(at.y), SIZE - 2), min(int(at.x), SIZE - 2)
    u, v = at.x - float(j), at.y - float(i)
    upper: float = sa.lerp(cells[i, j], cells[i, j + 1], u)
    lower: float = sa.lerp(cells[i + 1, j], cells[i + 1, j + 1], u)
    return sa.softplus(sa.lerp(upper, lower, v))


@sa.differentiable
def remaining(cells: Tensor[float, 2], angle: NoDiff[float], offset: NoDiff[float]) -> float:
    """The light that a ray leaves: Beer's law along a line at a distance from the centre."""
    along = float2(sa.cos(angle), sa.sin(angle))
    start = float2(-along.y, along.x) * offset
    half_length = sa.sqrt(max(1.0 - offset * offset, 0.0))
    step = 2.0 * half_length / SAMPLES
    depth = 0.0
    for k in range(SAMPLES):
        depth += density(cells, start + along * ((k + 0.5) * step - half_length)) * step
    return sa.exp(-depth)


@sa.kernel
def mismatch(
    angle: NoDiff[Each[float]], offset: NoDiff[Each[float]], seen: NoDiff[Each[float]], cells: Tensor[float, 2]
) -> Mean[float]:
    """The squared error of a ray."""
    error = remaining(cells, angle, offset) - seen
    return error * error


@sa.kernel
def measure(angle: NoDiff[Each[float]], offset: NoDiff[Each[float]], cells: Tensor[float, 2]) -> Each[float]:
    """The light of each ray."""
    return remaining(cells, angle, offset)


def body() -> np.ndarray:
    """Return the density of a body: a shell, two soft organs, small dense seeds."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / (SIZE - 1) * 2.0 - 1.0
    r = np.hypot(x / 0.7, y / 0.85)
    found = np.where(r < 1.0, 0.5, 0.0) + np.where(np.abs(r - 0.93) < 0.07, 1.6, 0.0)
    found += np.where(np.hypot((x + 0.25) / 0.18, (y + 0.1) / 0.35) < 1.0, 0.9, 0.0)
    found -= np.where(np.hypot((x - 0.25) / 0.18, (y + 0.15) / 0.3) < 1.0, 0.35, 0.0)
    for cx, cy in ((0.0, 0.45), (0.18, 0.5), (-0.18, 0.5)):
        found += np.where(np.hypot(x - cx, y - cy) < 0.07, 2.0, 0.0)
    return np.asarray(found, np.float32)


def raw(values: np.ndarray) -> np.ndarray:
    """Return the cells whose softplus is a density."""
    values = np.maximum(values, 1e-3)
    return np.asarray(values + np.log(-np.expm1(-values)), np.float32)


def rays(angles: int, offsets: int) -> dict[str, np.ndarray]:
    """Return rays from directions around the body, and what they leave, with a little noise."""
    angle, offset = np.meshgrid(np.arange(angles) * np.pi / angles, np.linspace(-0.99, 0.99, offsets), indexing="ij")
    data = {"angle": angle.ravel().astype(np.float32), "offset": offset.ravel().astype(np.float32)}
    seen = measure.forward(**data, cells=raw(body()), device="cpu").result
    noise = np.random.default_rng(0).normal(0.0, 0.002, seen.shape)
    return {**data, "seen": (seen + noise).astype(np.float32)}


def fit(angles: int = 40, offsets: int = 96, steps: int = 300) -> Any:
    """Return what training gives: the cells in ``.parameters``, and ``.losses``."""
    empty = np.full((SIZE, SIZE), -2.0, np.float32)
    return mismatch.train(**rays(angles, offsets), cells=empty, optimizer=sa.Adam(lr=0.1), steps=steps, device="cpu")


def draw(path: str) -> None:
    """Draw what the rays leave, the densities found from few and from many directions, and the true one."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(10, 2.7), layout="constrained")
    axes[0].imshow(rays(40, 96)["seen"].reshape(40, 96), cmap="gray", aspect="auto", vmin=0, vmax=1)
    axes[0].set_title("light left, by direction", fontsize=9)
    shown = {
        "found from 6 directions": np.logaddexp(0.0, fit(6).parameters["cells"]),
        "found from 40 directions": np.logaddexp(0.0, fit(40).parameters["cells"]),
        "true density": body(),
    }
    for axis, (title, values) in zip(axes[1:], shown.items(), strict=True):
        axis.imshow(values, cmap="magma", vmin=0, vmax=2.6)
        axis.set_title(title, fontsize=9)
    for axis in axes:
        axis.axis("off")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "tomography.png")
