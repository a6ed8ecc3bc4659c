"""A soft rasteriser: triangles with blurred edges move, turn and change colour until they show a picture."""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, Uniform, float2, float3

COUNT = 48
"""Triangles, from back to front."""


@sa.differentiable
def beyond(p: NoDiff[float2], a: float2, b: float2) -> float:
    """The distance of a point from the line through two others, positive to its left."""
    edge = b - a
    return (edge.x * (p.y - a.y) - edge.y * (p.x - a.x)) / sa.length(edge)


@sa.differentiable
def coverage(p: NoDiff[float2], a: float2, b: float2, c: float2, blur: NoDiff[float]) -> float:
    """How much a triangle covers a point: 1 inside, 0 outside, a smooth step of the width ``blur`` between."""
    turn = 1.0 if (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0.0 else -1.0
    inside = min(turn * beyond(p, a, b), turn * beyond(p, b, c), turn * beyond(p, c, a))
    return sa.sigmoid(inside / blur)


@sa.differentiable
def rasterise(
    p: NoDiff[float2],
    a: Tensor[float2, 1],
    b: Tensor[float2, 1],
    c: Tensor[float2, 1],
    colour: Tensor[float3, 1],
    blur: NoDiff[float],
) -> float3:
    """The colour at a point."""
    light = float3(0.5)
    for k in sa.range(COUNT):
        light = sa.lerp(light, colour[k], float3(0.9 * coverage(p, a[k], b[k], c[k], blur)))
    return light


@sa.kernel
def mismatch(
    p: NoDiff[Each[float2]],
    picture: NoDiff[Each[float3]],
    a: Tensor[float2, 1],
    b: Tensor[float2, 1],
    c: Tensor[float2, 1],
    colour: Tensor[float3, 1],
    blur: Uniform[float],
) -> Mean[float]:
    """The squared error of a pixel."""
    error = rasterise(p, a, b, c, colour, blur) - picture
    return sa.dot(error, error)


@sa.kernel
def show(
    p: NoDiff[Each[float2]],
    a: Tensor[float2, 1],
    b: Tensor[float2, 1],
    c: Tensor[float2, 1],
    colour: Tensor[float3, 1],
    blur: Uniform[float],
) -> Each[float3]:
    """The triangles at any points and with any blur."""
    return rasterise(p, a, b, c, colour, blur)


def points(size: int) -> np.ndarray:
    """Return the pixel centres of a square from 0 to 1."""
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size
    return np.stack([x, y], -1).reshape(-1, 2).astype(np.float32)


def picture(size: int) -> np.ndarray:
    """Return a flat design: a sun, two peaks with snow, a field."""
    x, y = points(size).T
    image = np.stack([0.99 - 0.5 * (1 - y), 0.80 - 0.35 * (1 - y), 0.55 + 0.15 * (1 - y)], -1)
    image[(x - 0.7) ** 2 + (y - 0.33) ** 2 < 0.13**2] = (1.0, 0.93, 0.65)
    for px, py, slope in ((0.68, 0.45, 1.1), (0.32, 0.28, 1.4)):
        rise = y - py - slope * np.abs(x - px)
        image[rise > 0] = (0.30, 0.28, 0.48)
        image[(rise > 0) & (x > px)] = (0.22, 0.20, 0.38)
        image[(rise > 0) & (y < py + 0.15)] = (0.93, 0.93, 0.97)
    image[y > 0.76 + 0.06 * np.sin(5.0 * x)] = (0.20, 0.42, 0.33)
    return image.astype(np.float32)


def start(seed: int = 1) -> dict[str, np.ndarray]:
    """Return small triangles at random positions."""
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0.05, 0.95, (COUNT, 2))
    corners = {name: (centre + rng.normal(0.0, 0.12, (COUNT, 2))).astype(np.float32) for name in "abc"}
    return {**corners, "colour": rng.uniform(0.3, 0.8, (COUNT, 3)).astype(np.float32)}


def fit(size: int = 48, stages: tuple[tuple[float, int], ...] = ((0.03, 200), (0.012, 200), (0.006, 200))) -> Any:
    """Return what the last training gives: triangles in ``.parameters``; the edges get sharper from stage to stage."""
    triangles = start()
    done = None
    for blur, steps in stages:
        done = mismatch.train(
            points(size), picture(size), **triangles, blur=blur, optimizer=sa.Adam(lr=0.01), steps=steps, device="cpu"
        )
        triangles = done.parameters
    return done


def shown(triangles: dict[str, np.ndarray], blur: float, size: int = 160) -> np.ndarray:
    """Return a picture of triangles."""
    found = show.forward(points(size), **triangles, blur=blur, device="cpu").result
    return np.asarray(np.clip(found.reshape(size, size, 3), 0.0, 1.0))


def draw(path: str) -> None:
    """Draw the picture, the start, and the triangles after training, with soft and with hard edges."""
    import matplotlib.pyplot as plt

    done = fit().parameters
    images = {
        "picture": picture(160).reshape(160, 160, 3),
        "start": shown(start(), 0.03),
        "200 steps, soft edges": shown(fit(stages=((0.03, 200),)).parameters, 0.03),
        f"600 steps, {COUNT} hard triangles": shown(done, 0.002),
    }
    figure, axes = plt.subplots(1, 4, figsize=(10, 2.7), layout="constrained")
    for axis, (title, image) in zip(axes, images.items(), strict=True):
        axis.imshow(image)
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "triangles.png")
