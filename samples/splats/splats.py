"""Paint a landscape with 2-D Gaussians: each has a position, two widths, an angle, a colour and an opacity."""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, float2, float3

COUNT = 96
"""Gaussians, from front to back."""


@sa.differentiable
def weight(offset: float2, width: float2, angle: float) -> float:
    """The value of a Gaussian, 1 at its centre."""
    c, s = sa.cos(angle), sa.sin(angle)
    p = float2(c * offset.x + s * offset.y, c * offset.y - s * offset.x) / width
    return sa.exp(-0.5 * sa.dot(p, p))


@sa.differentiable
def paint(
    at: NoDiff[float2],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> float3:
    """The colour at a position: the Gaussians over a black ground."""
    light = float3(0.0)
    through = 1.0
    for k in sa.range(COUNT):
        alpha = 0.99 * sa.sigmoid(opacity[k]) * weight(at - centre[k], sa.exp(width[k]), angle[k])
        light += through * alpha * colour[k]
        through *= 1.0 - alpha
    return light


@sa.kernel(dims=2)
def mismatch(
    landscape: NoDiff[Each[float3]],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Mean[float]:
    """The squared error of each pixel."""
    height = float(sa.thread_count(0))
    at = float2((float(sa.thread_id(1)) + 0.5) / height, (float(sa.thread_id(0)) + 0.5) / height)
    error = paint(at, centre, width, angle, colour, opacity) - landscape
    return sa.dot(error, error)


@sa.kernel
def show(
    at: NoDiff[Each[float2]],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Each[float3]:
    """The painting at any positions."""
    return paint(at, centre, width, angle, colour, opacity)


def landscape(height: int, width: int) -> np.ndarray:
    """Return an evening by a lake, computed: sky, sun, three ridges, and their reflection."""
    y, x = np.mgrid[0:height, 0:width] / height
    depth = np.where(y > 0.68, 1.36 - y, y)  # below the shore the water mirrors what is above
    sky = np.stack([0.95 - 0.75 * (0.7 - depth), 0.45 + 0.1 * depth, 0.35 + 0.6 * (0.7 - depth)], -1)
    sun = np.exp(-((x - 0.95) ** 2 + (depth - 0.42) ** 2) / 0.006)[..., None]
    image = sky + sun * (np.array([1.0, 0.85, 0.45]) - sky)
    for ridge, (base, colour) in enumerate(
        [(0.46, (0.55, 0.38, 0.50)), (0.54, (0.33, 0.25, 0.42)), (0.61, (0.13, 0.13, 0.27))]
    ):
        line = base + 0.06 * np.sin(7.0 * x + 2.1 * ridge) + 0.035 * np.sin(17.0 * x + 5.0 * ridge)
        image = np.where((depth > line)[..., None], np.array(colour), image)
    water = np.where((y > 0.68)[..., None], 0.72 + 0.08 * np.sin(90.0 * y + 4.0 * np.sin(9.0 * x))[..., None], 1.0)
    return np.asarray(np.clip(image * water, 0.0, 1.0), np.float32)


def start(aspect: float, seed: int = 0) -> dict[str, np.ndarray]:
    """Return grey Gaussians at random positions."""
    rng = np.random.default_rng(seed)
    return {
        "centre": (rng.uniform(0.0, 1.0, (COUNT, 2)) * [aspect, 1.0]).astype(np.float32),
        "width": np.full((COUNT, 2), np.log(0.06), np.float32),
        "angle": rng.uniform(0.0, 3.0, COUNT).astype(np.float32),
        "colour": np.full((COUNT, 3), 0.5, np.float32),
        "opacity": np.zeros(COUNT, np.float32),
    }


def fit(height: int = 40, width: int = 60, steps: int = 250) -> Any:
    """Return what training gives: the Gaussians in ``.parameters``, and ``.losses``."""
    return mismatch.train(
        landscape(height, width), **start(width / height), optimizer=sa.Adam(lr=0.02), steps=steps, device="cpu"
    )


def painted(gaussians: dict[str, np.ndarray], height: int = 96, width: int = 144) -> np.ndarray:
    """Return the painting, at any size."""
    y, x = (np.mgrid[0:height, 0:width] + 0.5) / height
    at = np.stack([x, y], -1).reshape(-1, 2).astype(np.float32)
    found = show.forward(at, **gaussians, device="cpu").result
    return np.asarray(np.clip(found.reshape(height, width, 3), 0.0, 1.0))


def draw(path: str) -> None:
    """Draw the landscape, and the painting after some numbers of steps."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(10, 2), layout="constrained")
    images = {"landscape": landscape(96, 144), "start": painted(start(1.5))}
    for steps in (20, 250):
        images[f"{COUNT} Gaussians, {steps} steps"] = painted(fit(steps=steps).parameters)
    for axis, (title, image) in zip(axes, images.items(), strict=True):
        axis.imshow(image)
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "splats.png")
