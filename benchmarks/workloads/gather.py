"""W3 with the filter written out, over a tensor."""

import slangad as sa
from slangad import Each, NoDiff, Sum, Tensor, float2, float4


@sa.differentiable
def bilinear(image: Tensor[float4, 2], uv: NoDiff[float2]) -> float4:
    rows = image.shape[0]
    columns = image.shape[1]
    x = uv.x * float(columns) - 0.5
    y = uv.y * float(rows) - 0.5
    j = int(sa.floor(x))
    i = int(sa.floor(y))
    fx = x - sa.floor(x)
    fy = y - sa.floor(y)
    j0 = sa.clamp(j, 0, columns - 1)
    j1 = sa.clamp(j + 1, 0, columns - 1)
    i0 = sa.clamp(i, 0, rows - 1)
    i1 = sa.clamp(i + 1, 0, rows - 1)
    top = image[i0, j0] * (1.0 - fx) + image[i0, j1] * fx
    bottom = image[i1, j0] * (1.0 - fx) + image[i1, j1] * fx
    return top * (1.0 - fy) + bottom * fy


@sa.kernel
def fit(image: Tensor[float4, 2], uv: NoDiff[Each[float2]], target: NoDiff[Each[float4]]) -> Sum[float]:
    error = bilinear(image, uv) - target
    return sa.dot(error, error)
