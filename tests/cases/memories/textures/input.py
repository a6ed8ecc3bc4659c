"""Textures, sampled and loaded."""

from __future__ import annotations

import slangad as sa
from slangad import Each, Mean, NoDiff, Texture2D, float2, float3


@sa.differentiable
def shade(albedo: Texture2D[float3], uv: float2) -> float3:
    return albedo.sample(uv) * 0.5


@sa.kernel
def compare(
    albedo: Texture2D[float3],
    tiles: sa.texture(sa.half, address="repeat", filter="nearest"),
    mask: NoDiff[Texture2D[float, "mirror"]],  # noqa: F821, UP037  (a word, not a type)
    uv: Each[float2],
) -> Mean[float]:
    texel = float2(1.0 / float(albedo.size.x), 1.0 / float(albedo.size.y))
    near = tiles.load(0, -1)
    color = shade(albedo, uv + texel) - albedo.sample(uv=uv)
    return sa.dot(color, color) * mask.sample(uv) + float(near) + float(tiles.sample(uv))
