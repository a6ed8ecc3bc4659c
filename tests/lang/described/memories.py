"""Kernels with every memory, which Python and devices run alike."""

# ruff: noqa: UP037, F821  (words inside Texture2D[...] are options, not names)

from __future__ import annotations

import slangad as sa
from slangad import (
    Array,
    Each,
    InOutTensor,
    Mean,
    NoDiff,
    OutTensor,
    Param,
    Sum,
    Tensor,
    Texture2D,
    Uniform,
    float2,
    float2x2,
    float3,
)


@sa.struct
class Layer:
    weights: Array[float3, 2]
    bias: float
    count: int


@sa.differentiable
def lookup(image: Tensor[float, 2], y: float, x: float) -> float:
    row, column = int(y), int(x)
    v, u = y - float(row), x - float(column)
    rows, columns = image.shape
    below, right = min(row + 1, rows - 1), min(column + 1, columns - 1)
    top = (1.0 - u) * image[row, column] + u * image[row, right]
    return (1.0 - v) * top + v * ((1.0 - u) * image[below, column] + u * image[below, right])


@sa.differentiable
def frozen(table: NoDiff[Tensor[float, 1]], x: float) -> float:
    return table[-1] * x * len(table)


@sa.function
def apart(table: Tensor[float, 1]) -> float:
    return table[0]


@sa.kernel
def fit(
    image: Tensor[float, 2], at: Each[float2], m: Param[Layer], scale: Uniform[float], table: Tensor[float, 1]
) -> tuple[Sum[float], Mean[float3]]:
    value = sa.probe("value", lookup(image, at.y, at.x) * scale)
    kept = frozen(table, value) + sa.no_diff(apart(table)) * value + table[1]
    return value * value * m.bias + kept, m.weights[1] * value


@sa.kernel(dims=2)
def halve(image: Tensor[float3, 2], small: OutTensor[float3, 2]) -> None:
    i, j = sa.thread_id(0), sa.thread_id(1)
    total = float3(0.0)
    for a in range(2):
        for b in range(2):
            total = total + image[2 * i + a, 2 * j + b] * image[2 * i + a, 2 * j + b].x
    small[i, j] = 0.25 * total


@sa.kernel
def step(v: InOutTensor[float, 1], x: Each[float]) -> Each[float]:
    i = sa.thread_id()
    old = v[2 * i]
    v[2 * i] = old * x
    return old + x


@sa.kernel
def gather(w: Tensor[Array[float2, 2], 1], k: Each[int], x: Each[float]) -> Sum[float]:
    return w[k][1].y * x * w[k][0].x


@sa.kernel
def look(uv: Each[float2], t: Texture2D[float3], r: sa.texture(float, address="repeat")) -> Mean[float]:
    return sa.dot(t.sample(uv), float3(1.0, 2.0, 3.0)) * r.sample(2.0 * uv) + r.load(0, -1)


@sa.kernel
def taps(uv: Each[float2], m: Texture2D[float, "mirror"], n: Texture2D[float, "nearest", "repeat"]) -> Each[float2]:
    return float2(m.sample(uv), n.sample(uv))


@sa.kernel
def rewrite(x: Each[float], w: Tensor[float, 1], out: OutTensor[float, 1]) -> None:
    i = sa.thread_id()
    out[i] = 3.0 * x
    if x > 0.5:
        for k in range(2):
            out[i] = sa.no_diff(w[k]) * x * w[0]


@sa.struct
class Mixture:
    a: float
    b: Array[float2, 2]


@sa.kernel
def kinds(
    m: Tensor[float2x2, 1],
    h: Tensor[sa.half, 1],
    k: Tensor[int, 1],
    on: Tensor[bool, 1],
    u: Tensor[sa.uint, 1],
    d: Tensor[sa.double, 1],
    s: Param[Mixture],
    x: Each[float],
) -> tuple[Sum[float2x2], Mean[Array[float, 2]], Sum[int]]:
    i = sa.thread_id()
    j = k[i] % 2
    y = (m[j][0, 1] if on[i] else x) * float(h[j]) * s.b[1].y + s.a + float(d[-1])
    return m[0] * y, Array[float, 2](y, x), k[i] + int(u[0])


@sa.kernel(dims=3)
def box(w: Tensor[float, 3], out: OutTensor[float, 3]) -> None:
    i, j, k = sa.thread_id(0), sa.thread_id(1), sa.thread_id(2)
    out[i, j, k] = w[k, j, i] * w[0, 0, 0]
