"""Fit a signed distance function on a grid to a silhouette: inside negative, outside positive, slope 1 everywhere."""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Mean, NoDiff, Tensor, Uniform

SIZE = 64
"""Grid points along an axis; a unit is the distance of two."""


@sa.kernel(dims=2)
def mismatch(distance: Tensor[float, 2], mask: NoDiff[Tensor[float, 2]], blur: Uniform[float]) -> Mean[float]:
    """The error of the soft silhouette, and a penalty where the slope is not 1."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    here: float = distance[i, j]
    error: float = sa.sigmoid(-here / blur) - mask[i, j]
    below = distance[i + 1 if i + 1 < SIZE else SIZE - 2, j]
    right = distance[i, j + 1 if j + 1 < SIZE else SIZE - 2]
    slope: float = sa.sqrt((below - here) ** 2 + (right - here) ** 2 + 1e-6)
    return error * error + 0.02 * (slope - 1.0) ** 2


def mask(size: int = SIZE) -> np.ndarray:
    """Return the silhouette of a fish: 1 inside, 0 outside."""
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size * 2.0 - 1.0
    body = ((x - 0.12) / 0.6) ** 2 + (y / 0.34) ** 2 < 1.0
    tail = (x < -0.38) & (x > -0.8) & (np.abs(y) < 0.05 - 0.75 * (x + 0.38)) & (np.abs(y) > -0.3 - 0.6 * x - 0.02)
    fin = (np.abs(x - 0.1) < 0.22) & (y < -0.25) & (y > -0.52 + 0.9 * (x - 0.1) ** 2 - 0.3 * (x - 0.1))
    eye = (x - 0.5) ** 2 + (y + 0.07) ** 2 < 0.055**2
    return np.asarray((body | tail | fin) & ~eye, np.float32)


def start() -> np.ndarray:
    """Return the distances of a circle."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] - (SIZE - 1) / 2.0
    return np.asarray(np.hypot(x, y) - SIZE / 4.0, np.float32)


def fit(steps: int = 1500) -> Any:
    """Return what training gives: the distances in ``.parameters``, and ``.losses``."""
    return mismatch.train(
        start(), mask(), 0.5, domain=(SIZE, SIZE), optimizer=sa.Adam(lr=0.1), steps=steps, device="cpu"
    )


def draw(path: str) -> None:
    """Draw the silhouette, and lines of equal distance at the start and after training."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(10, 2.6), layout="constrained")
    axes[0].imshow(1.0 - mask(), cmap="gray")
    axes[0].set_title("silhouette", fontsize=9)
    shown = (("start", start()), ("60 steps", None), ("1500 steps", None))
    for axis, (title, distance) in zip(axes[1:], shown, strict=True):
        values = fit(int(title.split()[0])).parameters["distance"] if distance is None else distance
        axis.contourf(values, np.arange(-32, 40, 2), cmap="RdBu", vmin=-24, vmax=24)
        axis.contour(values, [0.0], colors="black", linewidths=1.5)
        axis.invert_yaxis()
        axis.set_aspect("equal")
        axis.set_title(title, fontsize=9)
    for axis in axes:
        axis.axis("off")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "silhouette.png")
