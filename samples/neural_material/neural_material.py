"""Replaces an analytic material that varies over a surface by a small latent texture and a network."""

import math
import sys
from typing import Annotated, Any

import numpy as np

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, Uniform, float2, float3, float4

PI = 3.14159265
GOLDEN = (3859688306, 3468523226, 3117001274, 2801104767, 2517223199, 2262111973)
"""Steps of a sequence that fills six dimensions evenly, times 2^32."""

TEXELS = 10

Net = Annotated[Any, sa.nn.MLP([20, 16, 16, 3], activation="relu", output="sigmoid")]
blobs = sa.nn.OneBlob(4)


@sa.struct
class Angles:
    """Cosines between the normal, the directions to the light and to the viewer, and the direction halfway."""

    normal_half: float
    light_half: float
    light: float
    view: float


@sa.struct
class Material:
    """The neural material: a texture of four features, then a network that takes the angles too."""

    texels: Array[Array[float4, TEXELS], TEXELS]
    net: Net

    def features(self, uv: float2) -> float4:
        """The texture at a position in [0, 1], between its texels."""
        at = sa.clamp(uv, 0.0, 0.9999) * float(TEXELS - 1)
        cell = sa.floor(at)
        i, j = int(cell.y), int(cell.x)
        u, v = at.x - cell.x, at.y - cell.y
        upper = (1.0 - u) * self.texels[i][j] + u * self.texels[i][j + 1]
        lower = (1.0 - u) * self.texels[i + 1][j] + u * self.texels[i + 1][j + 1]
        found: float4 = (1.0 - v) * upper + v * lower
        return found

    def __call__(self, uv: float2, a: Angles) -> float3:
        """The light that it reflects, mapped to [0, 1)."""
        features = self.features(uv)
        encoded = blobs(Array[float, 4](a.normal_half, a.light_half, a.light, a.view))
        x = Array[float, 20]()
        for i in range(4):
            x[i] = features[i]
        for i in range(16):
            x[4 + i] = encoded[i]
        c = self.net(x)
        return float3(c[0], c[1], c[2])


@sa.function
def angles(normal: float3, light: float3, view: float3) -> Angles:
    """The cosines of two directions."""
    half = sa.normalize(light + view)
    return Angles(
        max(sa.dot(normal, half), 0.0),
        max(sa.dot(light, half), 0.0),
        max(sa.dot(normal, light), 0.0),
        max(sa.dot(normal, view), 0.0),
    )


@sa.function
def analytic(uv: float2, a: Angles) -> float3:
    """The light that GGX reflects: gold where the pattern is 1, red lacquer where it is 0; mapped to [0, 1)."""
    pattern = sa.smoothstep(-0.35, 0.35, -math.sin(2.0 * PI * uv.x) * math.sin(2.0 * PI * uv.y))
    albedo = sa.lerp(float3(0.55, 0.1, 0.08), float3(1.0, 0.78, 0.34), float3(pattern))
    alpha = sa.lerp(0.5, 0.2, pattern)
    d = a.normal_half * a.normal_half * (alpha * alpha - 1.0) + 1.0
    k = 0.5 * alpha
    masking = 4.0 * (a.light * (1.0 - k) + k) * (a.view * (1.0 - k) + k)
    lobe = alpha * alpha / (PI * d * d * masking)
    base = sa.lerp(float3(0.04), albedo, float3(pattern))
    fresnel = base + (1.0 - base) * (1.0 - a.light_half) ** 5
    light = (albedo * ((1.0 - pattern) / PI) + fresnel * lobe) * (PI * a.light)
    return light / (light + 1.0)


@sa.function
def drawn(number: int, axis: int) -> float:
    """A number in [0, 1): one coordinate of a point of the sequence."""
    return float((sa.uint(number + 1) * sa.uint(GOLDEN[axis])) // sa.uint(256)) / 16777216.0


@sa.function
def direction(height: float, turn: float) -> float3:
    """A direction above the surface."""
    across = sa.sqrt(1.0 - height * height)
    return float3(across * math.cos(2.0 * PI * turn), across * math.sin(2.0 * PI * turn), height)


@sa.kernel(ranges={"material.texels": (-0.1, 0.1)})
def fit(material: Param[Material]) -> Mean[float]:
    """The squared error at a random position, for random directions; many of them are near the mirror direction."""
    i = sa.thread_id(0)
    uv = float2(drawn(i, 0), drawn(i, 1))
    view = direction(drawn(i, 2), drawn(i, 3))
    half = direction(1.0 - drawn(i, 4) * drawn(i, 4), drawn(i, 5))
    light = 2.0 * sa.dot(half, view) * half - view
    a = angles(float3(0.0, 0.0, 1.0), light, view)
    error: float = sa.nn.l2(material(uv, a), analytic(uv, a))
    return error


@sa.function
def seen(row: int, column: int, size: int) -> float3:
    """The point of a ball that a pixel shows; its third coordinate is 0 beside the ball."""
    x = (2.0 * float(column) + 1.0) / float(size) - 1.0
    y = 1.0 - (2.0 * float(row) + 1.0) / float(size)
    return float3(x, y, sa.sqrt(max(1.0 - x * x - y * y, 0.0)))


@sa.function
def angles_at(p: float3) -> Angles:
    """The cosines at a point of the ball, under one lamp."""
    return angles(p, sa.normalize(float3(-0.4, 0.5, 0.7)), float3(0.0, 0.0, 1.0))


@sa.kernel(dims=2)
def render(material: NoDiff[Param[Material]]) -> Each[float3]:
    """A ball of the neural material."""
    p = seen(sa.thread_id(0), sa.thread_id(1), sa.thread_count(1))
    return material(0.5 + 0.5 * p.xy, angles_at(p)) if p.z > 0.0 else float3(1.0)


@sa.kernel(dims=2)
def reference(size: Uniform[int]) -> Each[float3]:
    """The same ball of the analytic material."""
    p = seen(sa.thread_id(0), sa.thread_id(1), size)
    return analytic(0.5 + 0.5 * p.xy, angles_at(p)) if p.z > 0.0 else float3(1.0)


def trained(steps: int = 1000) -> Any:
    """Return what training gives: the material in ``.parameters``, and ``.losses``."""
    return fit.train(domain=4096, optimizer=sa.Adam(lr=0.01, half_life=400), steps=steps, device="cpu")


def draw(path: str) -> None:
    """Draw balls of the analytic material, of the neural one after some numbers of steps, and of the last error."""
    import matplotlib.pyplot as plt

    size = 160
    shown = {"analytic": reference.forward(size, domain=(size, size), device="cpu").result}
    for steps in (50, 1000):
        material = trained(steps).parameters["material"]
        shown[f"neural, {steps} steps"] = render.forward(material, domain=(size, size), device="cpu").result
    shown["error x 4"] = 1.0 - 4.0 * np.abs(shown["analytic"] - shown["neural, 1000 steps"])
    figure, axes = plt.subplots(1, 4, figsize=(8, 2.3), layout="constrained")
    for axis, (title, picture) in zip(axes, shown.items(), strict=True):
        axis.imshow(np.clip(picture, 0.0, 1.0) ** (1 / 2.2))
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "neural_material.png")
