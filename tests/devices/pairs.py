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
    """In two statements, then a third element, which is at the place of the first until its index changes."""
    n = j
    a = w[i, n]
    b = w[i, k]
    n = k
    c = w[i, n]
    return g.x * (a.x - a.y) + 0.5 * g.y * (b.x - b.y) + 0.5 * g.y * (c.x - c.y)


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
