"""W3: a texture fitted to samples of it, through the hardware's bilinear filter."""

import slangad as sa
from slangad import Each, NoDiff, Sum, Texture2D, float2, float4


@sa.kernel
def fit(image: Texture2D[float4], uv: NoDiff[Each[float2]], target: NoDiff[Each[float4]]) -> Sum[float]:
    error = image.sample(uv) - target
    return sa.dot(error, error)
