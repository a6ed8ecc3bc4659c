"""Every memory a kernel can use."""

from __future__ import annotations

import slangad as sa
from slangad import Array, Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Uniform, float2, float3


@sa.struct
class Layer:
    weights: Array[float3, 2]
    bias: float


@sa.differentiable
def lookup(image: Tensor[float, 2], y: float, x: float) -> float:
    row, column = int(y), int(x)
    v = y - float(row)
    return (1.0 - v) * image[row, column] + v * image[row + 1, column]


@sa.differentiable
def frozen(table: NoDiff[Tensor[float, 1]], x: float) -> float:
    return table[0] * x + float(len(table))


@sa.kernel
def fit(image: Tensor[float, 2], at: Each[float2], m: Param[Layer], scale: Uniform[float]) -> Sum[float]:
    value = lookup(image, at.y, at.x) * scale
    return sa.probe("residual", value - m.bias) + m.weights[1].x


@sa.kernel(dims=2)
def halve(image: Tensor[float3, 2], small: OutTensor[float3, 2]) -> None:
    i, j = sa.thread_id(0), sa.thread_id(1)
    rows, columns = image.shape
    last = min(2 * j + 1, columns - 1)
    small[i, j] = 0.5 * (image[min(2 * i, rows - 1), 2 * j] + image[2 * i, last])


@sa.kernel
def smooth(x: Tensor[float, 1], y: OutTensor[float, 1]):
    total = 0.0
    for k in sa.range(x.shape[0], max_iters=8):
        total += x[k]
    y[sa.thread_id(0)] = total + x[-1]


@sa.kernel
def step(v: InOutTensor[float, 1], table: NoDiff[Tensor[float, 1]], amount: Each[float], k: Each[sa.uint]) -> None:
    i = sa.thread_id()
    v[i] += frozen(table, amount) * table[k]


@sa.kernel
def moments(x: Each[float]) -> tuple[Mean[float], Sum[float2], Each[float], Sum[int]]:
    return x, float2(x, x * x), 2.0 * x, 1
