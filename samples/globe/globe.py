"""Recover the map of a globe from photographs of it: a texture that is only ever seen bent and from the side."""

import math
import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, float2, float3

HEIGHT, WIDTH = 48, 96
"""Texels of the map: latitudes, longitudes."""


@sa.function
def place(pixel: float2, turn: float) -> float2:
    """Rows and columns of the map at a pixel of the globe that is turned about its axis, which leans to the viewer."""
    z = sa.sqrt(max(1.0 - sa.dot(pixel, pixel), 0.0))
    lean = 0.4
    up = math.cos(lean) * pixel.y + math.sin(lean) * z
    front = math.cos(lean) * z - math.sin(lean) * pixel.y
    latitude = math.acos(sa.clamp(up, -1.0, 1.0)) / math.pi
    longitude = sa.frac(math.atan2(pixel.x, front) / (2.0 * math.pi) + turn)
    return float2(latitude * (HEIGHT - 1.0), longitude * WIDTH)


@sa.differentiable
def texel(chart: Tensor[float3, 2], at: NoDiff[float2]) -> float3:
    """The map between its texels; the last column meets the first."""
    row = min(int(at.x), HEIGHT - 2)
    column = min(int(at.y), WIDTH - 1)
    following = column + 1 if column + 1 < WIDTH else 0
    down = at.x - float(row)
    along = at.y - float(column)
    upper: float3 = sa.lerp(chart[row, column], chart[row, following], float3(along))
    lower: float3 = sa.lerp(chart[row + 1, column], chart[row + 1, following], float3(along))
    return sa.lerp(upper, lower, float3(down))


@sa.kernel
def mismatch(
    pixel: NoDiff[Each[float2]], turn: NoDiff[Each[float]], seen: NoDiff[Each[float3]], chart: Tensor[float3, 2]
) -> Mean[float]:
    """The squared error of a pixel."""
    error = texel(chart, place(pixel, turn)) - seen
    return sa.dot(error, error)


@sa.kernel
def photograph(pixel: NoDiff[Each[float2]], turn: NoDiff[Each[float]], chart: Tensor[float3, 2]) -> Each[float3]:
    """What a camera sees."""
    return texel(chart, place(pixel, turn))


def world(height: int = 192, width: int = 384) -> np.ndarray:
    """Return a map of an invented world: noise above a level is land, white at the poles."""
    v, u = np.mgrid[0:height, 0:width] / [[[height]], [[width]]]
    lat, lon = (v - 0.5) * math.pi, u * 2.0 * math.pi
    x, y, z = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)
    rng = np.random.default_rng(5)
    level = np.zeros_like(x)
    for octave in range(5):
        for _ in range(4):
            a, b, c, phase = rng.normal(size=4)
            level += 0.6**octave * np.sin(1.7 * 2**octave * (a * x + b * y + c * z) + 6.0 * phase)
    land = np.clip((level - 0.2) * 4.0, 0.0, 1.0)[..., None]
    ice = np.clip((np.abs(z) - 0.86 + 0.02 * level) * 14.0, 0.0, 1.0)[..., None]
    sea = np.array([0.05, 0.2, 0.45]) + 0.05 * level[..., None]
    ground = np.array([0.25, 0.5, 0.2]) + 0.12 * np.maximum(level[..., None] - 1.0, 0.0) * np.array([1.6, 0.4, 0.8])
    surface = sea + land * (ground - sea)
    return np.asarray(np.clip(surface + ice * (0.95 - surface), 0.0, 1.0), np.float32)


def shrunk(chart: np.ndarray) -> np.ndarray:
    """Return a map at the resolution that is recovered."""
    blocks = chart.reshape(HEIGHT, chart.shape[0] // HEIGHT, WIDTH, chart.shape[1] // WIDTH, 3)
    return np.asarray(blocks.mean((1, 3)))


def photographs(views: int, size: int) -> dict[str, np.ndarray]:
    """Return the pixels of photographs all around the globe, with a little noise."""
    grid = (np.mgrid[0:size, 0:size] + 0.5) / size * 2.0 - 1.0
    pixel = np.stack([grid[1], -grid[0]], -1)[(grid**2).sum(0) < 0.96].astype(np.float32)
    turn = np.repeat(np.arange(views) / views, len(pixel)).astype(np.float32)
    pixel = np.tile(pixel, (views, 1))
    seen = photograph.forward(pixel, turn, shrunk(world()), device="cpu").result
    noise = np.random.default_rng(0).normal(0.0, 0.03, seen.shape)
    return {"pixel": pixel, "turn": turn, "seen": (seen + noise).astype(np.float32)}


def fit(views: int = 8, size: int = 96, steps: int = 300) -> Any:
    """Return what training gives: the map in ``.parameters``, and ``.losses``."""
    grey = np.full((HEIGHT, WIDTH, 3), 0.5, np.float32)
    return mismatch.train(**photographs(views, size), chart=grey, optimizer=sa.Adam(lr=0.02), steps=steps, device="cpu")


def view(chart: np.ndarray, turn: float, size: int = 160) -> np.ndarray:
    """Return a picture of the globe on white."""
    grid = (np.mgrid[0:size, 0:size] + 0.5) / size * 2.0 - 1.0
    inside = (grid**2).sum(0) < 1.0
    pixel = np.stack([grid[1], -grid[0]], -1)[inside].astype(np.float32)
    image = np.ones((size, size, 3))
    image[inside] = photograph.forward(pixel, np.full(len(pixel), turn, np.float32), chart, device="cpu").result
    return np.clip(image, 0.0, 1.0)


def draw(path: str) -> None:
    """Draw two photographs, the recovered map, and the map that the photographs are of."""
    import matplotlib.pyplot as plt

    found = fit().parameters["chart"]
    figure, axes = plt.subplots(1, 4, figsize=(10, 2), layout="constrained", width_ratios=[1, 1, 2, 2])
    true = shrunk(world())
    shown = [
        (view(true, 0.1), "photograph"),
        (view(true, 0.6), "photograph"),
        (np.clip(found, 0, 1), "recovered map"),
        (true, "true map"),
    ]
    for axis, (image, title) in zip(axes, shown, strict=True):
        axis.imshow(image)
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "globe.png")
