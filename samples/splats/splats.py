"""Paint a landscape with 2-D Gaussians: each has a position, two widths, an angle, a colour and an opacity."""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, float2, float3, int2

COUNT = 256
"""Gaussians, from front to back."""
TILE = 8
"""Pixels along each side of a tile. The pixels of a tile share a list of Gaussians."""
REACH = 3.3
"""Widths from its centre up to which a Gaussian is seen: at the edge it has 1/255 of its opacity."""


@sa.kernel
def boxes(
    centre: Each[float2], width: Each[float2], angle: Each[float], image: NoDiff[Tensor[float3, 2]]
) -> tuple[Each[int2], Each[int2]]:
    """The rows and columns of the tiles that a Gaussian is seen in: the first ones, and those after the last."""
    across, along = sa.exp(width) * sa.cos(angle), sa.exp(width) * sa.sin(angle)
    reach = REACH * float2(sa.length(float2(across.x, along.y)), sa.length(float2(along.x, across.y)))
    scale = float(image.shape[0]) / TILE
    first, last = sa.floor((centre - reach) * scale), sa.floor((centre + reach) * scale)
    return int2(int(first.y), int(first.x)), int2(int(last.y) + 1, int(last.x) + 1)


@sa.differentiable
def weight(offset: float2, width: float2, angle: float) -> float:
    """The value of a Gaussian, 1 at its centre."""
    c, s = sa.cos(angle), sa.sin(angle)
    p = float2(c * offset.x + s * offset.y, c * offset.y - s * offset.x) / width
    return sa.exp(-0.5 * sa.dot(p, p))


@sa.differentiable
def paint(
    i: int,
    j: int,
    height: int,
    start: Tensor[int, 2],
    count: Tensor[int, 2],
    order: Tensor[int, 1],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> float3:
    """The colour of a pixel: the Gaussians of its tile over a black ground."""
    at = float2((float(j) + 0.5) / height, (float(i) + 0.5) / height)
    first = start[i // TILE, j // TILE]
    light = float3(0.0)
    through = 1.0
    for k in sa.range(count[i // TILE, j // TILE], max_iters=COUNT):
        n = order[first + k]
        alpha = 0.99 * sa.sigmoid(opacity[n]) * weight(at - centre[n], sa.exp(width[n]), angle[n])
        light += through * alpha * colour[n]
        through *= 1.0 - alpha
    return light


@sa.kernel(dims=2)
def render(
    start: Tensor[int, 2],
    count: Tensor[int, 2],
    order: Tensor[int, 1],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Each[float3]:
    """The colour of each pixel."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    return paint(i, j, sa.thread_count(0), start, count, order, centre, width, angle, colour, opacity)


@sa.kernel(dims=2)
def mismatch(painted: Each[float3], landscape: NoDiff[Each[float3]]) -> Mean[float]:
    """The squared error of each pixel."""
    return sa.dot(painted - landscape, painted - landscape)


@sa.pipeline
def show(
    canvas: NoDiff[Tensor[float3, 2]],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Each[float3]:
    """The painting, of the canvas's size."""
    first, last = boxes(centre, width, angle, canvas)
    start, count, order = sa.bin(
        first,
        last,
        tiles=((canvas.shape[0] + 7) // TILE, (canvas.shape[1] + 7) // TILE),
        capacity=128 * centre.shape[0],
    )
    return render(start, count, order, centre, width, angle, colour, opacity, domain=canvas.shape)


@sa.pipeline(optimizer=sa.Adam(lr=0.02))
def learn(
    landscape: NoDiff[Tensor[float3, 2]],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Mean[float]:
    """The mean error of the painting."""
    first, last = boxes(centre, width, angle, landscape)
    start, count, order = sa.bin(
        first,
        last,
        tiles=((landscape.shape[0] + 7) // TILE, (landscape.shape[1] + 7) // TILE),
        capacity=128 * centre.shape[0],
    )
    painted = render(start, count, order, centre, width, angle, colour, opacity, domain=landscape.shape)
    return mismatch(painted, landscape)


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
        "width": np.full((COUNT, 2), np.log(0.04), np.float32),
        "angle": rng.uniform(0.0, 3.0, COUNT).astype(np.float32),
        "colour": np.full((COUNT, 3), 0.5, np.float32),
        "opacity": np.zeros(COUNT, np.float32),
    }


def fit(height: int = 64, width: int = 96, steps: int = 250) -> Any:
    """Return what training gives: the Gaussians in ``.parameters``, and ``.losses``."""
    return learn.train(landscape(height, width), **start(width / height), steps=steps, device="cpu")


def painted(gaussians: dict[str, np.ndarray], height: int = 96, width: int = 144) -> np.ndarray:
    """Return the painting, at any size."""
    found = show.forward(np.zeros((height, width, 3), np.float32), **gaussians, device="cpu").result
    return np.asarray(np.clip(found, 0.0, 1.0))


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
