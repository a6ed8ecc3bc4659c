"""Tensors of which all threads read the same few elements, and one of which they read any."""

import slangad as sa
from slangad import Each, NoDiff, Param, Sum, Tensor, float3, half


@sa.kernel
def line(x: NoDiff[Each[float]], w: Tensor[float, 1]) -> Sum[float]:
    return w[0] * x * x + w[1] * x + w[3]


@sa.differentiable
def layer(w: Tensor[float, 2], row: int, x: float) -> float:
    total = 0.0
    for k in range(3):
        total += w[row, k] * x
        x = x * 0.5
    return total


@sa.kernel
def network(x: Each[float], w: Tensor[float, 2], b: Param[float]) -> Each[float]:
    return layer(w, 0, x) + b * layer(w, 1, x * x)


@sa.kernel
def vectors(x: NoDiff[Each[float]], w: Tensor[float3, 1], h: Tensor[half, 1]) -> Sum[float]:
    total = 0.0
    for k in sa.range(w.shape[0], max_iters=4):
        v = w[k]
        total += (v.x * x + v.y * x * x + v.z) * float(h[k])
    return total


@sa.kernel
def plane(x: NoDiff[Each[float]], w: Tensor[float, 3]) -> Each[float]:
    total = 0.0
    for i in range(2):
        for j in range(1, 3):
            total += w[i, j, 2 - i] * x
    return total


@sa.kernel
def any_element(x: NoDiff[Each[float]], n: sa.Uniform[int], w: Tensor[float, 1]) -> Sum[float]:
    return w[n] * x
