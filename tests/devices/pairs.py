"""Kernels that read two elements of a row: of every size, in one statement or several, and more than two."""

import slangad as sa
from slangad import Each, NoDiff, Sum, Tensor, float2, float3, float4


@sa.kernel
def one(
    i: Each[int], j: Each[int], k: Each[int], g: NoDiff[Each[float2]], w: Tensor[float, 2], t: Tensor[float, 3]
) -> Each[float]:
    """Scalars, in a row of a matrix and of a block."""
    return g.x * w[i, j] + g.y * w[i, k] + g.y * t[1, i, j] + g.x * t[1, i, k]


@sa.kernel
def two(i: Each[int], j: Each[int], k: Each[int], g: NoDiff[Each[float2]], w: Tensor[float2, 2]) -> Sum[float]:
    """In two statements; the index of the second is computed between them."""
    a = w[i, j]
    n = k + 0 * j
    b = w[i, n]
    return g.x * (a.x - a.y) + g.y * (b.x - b.y)


@sa.kernel
def three(i: Each[int], j: Each[int], k: Each[int], g: NoDiff[Each[float2]], w: Tensor[float3, 2]) -> Each[float3]:
    """In a branch, and a third element of the row."""
    total = float3(0.0, 0.0, 0.0)
    if g.x > -2.0:
        total += g.x * w[i, j] + g.y * w[i, k]
    return total + w[i, 0]


@sa.kernel
def four(i: Each[int], j: Each[int], k: Each[int], g: NoDiff[Each[float2]], w: Tensor[float4, 2]) -> Each[float4]:
    """A row of two elements, twice."""
    first = g.x * w[i, j] + g.y * w[i, k]
    return first - 0.5 * (g.x * w[i, k] + g.y * w[i, j])
