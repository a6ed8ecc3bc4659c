# flags: --targets cpp spirv
"""Halfs that are converted where they are read: their cotangents are float, of those that stay half they are half."""

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, Tensor, float2


@sa.struct
class Small:
    """A value of any size with halfs stays in memory."""

    scale: sa.half
    bias: Array[sa.half, 2]
    shift: float


@sa.kernel
def converted(
    i: Each[int],
    w: Tensor[sa.half, 2],
    v: Tensor[sa.half2, 1],
    rows: Tensor[Array[sa.half, 3], 1],
    small: Param[Small],
    one: Param[sa.half],
) -> Mean[float]:
    moved = float2(v[i]) * float(small.scale) + float(v[i].x)
    return float(w[0, 1]) * moved.x + float(rows[i][2]) * float(small.bias[1]) + float(one) * small.shift


@sa.kernel
def stays_half(i: Each[int], w: Tensor[sa.half, 1], fixed: NoDiff[Param[sa.half]]) -> Mean[float]:
    product = w[i] * w[0]
    return float(product) + float(w[i]) * float(fixed)


@sa.kernel
def by_thread(x: Each[float], w: Tensor[sa.half, 1]) -> Each[float]:
    return float(w[sa.thread_id()]) * x
