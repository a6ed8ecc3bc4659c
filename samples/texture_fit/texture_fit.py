"""Fits a texture, and how it is laid over a surface, to what a camera saw."""

import math
from typing import Literal

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Texture2D, float2, float3


@sa.struct
class Placement:
    """How a texture lies: shifted, turned and scaled."""

    shift: float2
    angle: float
    scale: float

    def place(self, p: float2) -> float2:
        """Texture coordinates of a point."""
        s, c = math.sin(self.angle), math.cos(self.angle)
        return float2(c * p.x - s * p.y, s * p.x + c * p.y) * self.scale + self.shift


@sa.differentiable
def smoothness(albedo: Texture2D[float3, Literal["repeat"]], uv: float2) -> float:
    """How much a texture changes within a texel."""
    size = float2(float(albedo.size.x), float(albedo.size.y))
    here: float3 = albedo.sample(uv)
    right: float3 = albedo.sample(uv + float2(1.0 / size.x, 0.0))
    down: float3 = albedo.sample(uv + float2(0.0, 1.0 / size.y))
    return sa.dot(right - here, right - here) + sa.dot(down - here, down - here)


@sa.kernel
def fit(
    at: NoDiff[Each[float2]],
    seen: NoDiff[Each[float3]],
    albedo: Texture2D[float3, Literal["repeat"]],
    placement: Param[Placement],
) -> Mean[float]:
    """The squared error of what the camera sees, and a penalty on noise."""
    uv = placement.place(at)
    error: float3 = sa.probe("error", albedo.sample(uv) - seen)
    return sa.dot(error, error) + 1e-3 * smoothness(albedo, uv)
