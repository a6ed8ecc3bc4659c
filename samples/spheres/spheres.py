"""Fit the material of spheres to photographs of them: colour, roughness and metalness, one sphere after another."""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2, float3

PI = 3.14159265
LIGHTS = ((0.55, 0.6, 0.58), (-0.75, 0.2, 0.63))
"""Directions of two lamps."""


@sa.struct
class Material:
    """A surface."""

    albedo: float3
    roughness: float
    metallic: float


@sa.differentiable
def reflected(m: Material, normal: NoDiff[float3], light: NoDiff[float3]) -> float3:
    """The light that goes to a viewer at +z: a diffuse part, and GGX."""
    halfway = sa.normalize(light + float3(0.0, 0.0, 1.0))
    alpha = m.roughness * m.roughness
    cos_half = max(sa.dot(normal, halfway), 0.0)
    d = cos_half * cos_half * (alpha * alpha - 1.0) + 1.0
    lobe = alpha * alpha / (PI * d * d)
    base = sa.lerp(float3(0.04), m.albedo, float3(m.metallic))
    fresnel = base + (1.0 - base) * (1.0 - max(halfway.z, 0.0)) ** 5
    diffuse = m.albedo * ((1.0 - m.metallic) / PI)
    return (diffuse + fresnel * (0.25 * lobe)) * (PI * max(sa.dot(normal, light), 0.0))


@sa.differentiable
def shade(m: Material, pixel: NoDiff[float2]) -> float3:
    """The colour of a pixel of a sphere, between 0 and 1."""
    normal = float3(pixel.x, pixel.y, sa.sqrt(max(1.0 - sa.dot(pixel, pixel), 0.0)))
    light = 0.05 * m.albedo
    for direction in LIGHTS:
        light += reflected(m, normal, sa.normalize(float3(direction[0], direction[1], direction[2])))
    return light / (light + 1.0)


@sa.kernel(ranges={"m.roughness": (0.15, 0.9), "m.metallic": (0.0, 1.0), "m.albedo": (0.05, 0.95)})
def mismatch(m: Param[Material], pixel: NoDiff[Each[float2]], seen: NoDiff[Each[float3]]) -> Mean[float]:
    """The squared error of a pixel."""
    error = shade(m, pixel) - seen
    return sa.dot(error, error)


TRUE = (
    {"albedo": (0.80, 0.15, 0.10), "roughness": 0.35, "metallic": 0.0},
    {"albedo": (0.90, 0.65, 0.25), "roughness": 0.30, "metallic": 1.0},
    {"albedo": (0.15, 0.45, 0.30), "roughness": 0.75, "metallic": 0.1},
    {"albedo": (0.55, 0.60, 0.70), "roughness": 0.45, "metallic": 0.9},
)
GREY = {"albedo": (0.5, 0.5, 0.5), "roughness": 0.6, "metallic": 0.5}


def pixels(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which pixels of a square show the sphere, and their positions."""
    grid = (np.mgrid[0:size, 0:size] + 0.5) / size * 2.0 - 1.0
    inside = (grid**2).sum(0) < 1.0
    return inside, np.stack([grid[1], -grid[0]], -1)[inside].astype(np.float32)


def photograph(material: dict[str, object], size: int) -> np.ndarray:
    """Return the pixels of a sphere."""
    return np.asarray(shade.map(material, pixels(size)[1], device="cpu"))


def fit(true: dict[str, object], size: int = 64, steps: int = 300) -> Any:
    """Return what training gives, from a noisy photograph: the material in ``.parameters``, and ``.losses``."""
    seen = photograph(true, size)
    noise = np.random.default_rng(0).normal(0.0, 0.03, seen.shape)
    return mismatch.train(
        GREY, pixels(size)[1], (seen + noise).astype(np.float32), optimizer=sa.Adam(lr=0.02), steps=steps, device="cpu"
    )


def draw(path: str) -> None:
    """Draw photographs of four spheres, the start, and the fitted materials."""
    import matplotlib.pyplot as plt

    size = 150
    inside, _ = pixels(size)

    def picture(values: dict[str, object], noise: float = 0.0) -> np.ndarray:
        image = np.ones((size, size, 3))
        image[inside] = photograph(values, size)
        image[inside] += np.random.default_rng(1).normal(0.0, 1.0, image[inside].shape) * noise
        return np.clip(image, 0.0, 1.0) ** (1 / 2.2)

    rows = {
        "photograph": [picture(true, 0.03) for true in TRUE],
        "start": [picture(GREY) for _ in TRUE],
        "fitted": [picture(fit(true).parameters["m"]) for true in TRUE],
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 1.2), layout="constrained")
    for axis, (title, images) in zip(axes, rows.items(), strict=True):
        axis.imshow(np.concatenate(images, 1))
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "spheres.png")
