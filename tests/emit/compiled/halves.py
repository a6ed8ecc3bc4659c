"""Means and textures of numbers that are no floats."""

import slangad as sa
from slangad import Each, Mean, Texture2D, float2


@sa.kernel
def mean_of_halves(x: Each[sa.half]) -> Mean[sa.half]:
    return x * x


@sa.kernel
def mean_of_vectors(x: Each[sa.half3]) -> Mean[sa.half3]:
    return x * x


@sa.kernel
def sampled(t: Texture2D[sa.half4], uv: Each[float2]) -> Each[sa.half4]:
    return t.sample(uv)


@sa.kernel
def sampled_colour(t: Texture2D[sa.half3], uv: Each[float2]) -> Mean[sa.half3]:
    return t.sample(uv)


@sa.kernel
def sampled_number(t: Texture2D[sa.half], uv: Each[float2]) -> Mean[sa.half]:
    return t.sample(uv)
