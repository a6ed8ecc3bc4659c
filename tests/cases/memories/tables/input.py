"""Tables whose totals have many copies: alone in a domain of two axes, and beside sums that groups keep."""

import slangad as sa
from slangad import Array, Each, Param, Tensor, float2


@sa.kernel(dims=2)
def look_up(at: Each[int], table: Param[Array[float2, 16384]]) -> Each[float2]:
    return table[at]


@sa.kernel(dims=2, tile=(16, 16))
def shaded(at: Each[int], table: Param[Array[float2, 16384]], light: Tensor[float, 2]) -> Each[float]:
    return table[at].x * light[sa.thread_id(0) // 16, sa.thread_id(1) // 16]


@sa.kernel
def weighted(at: Each[int], table: Param[Array[float, 16384]], weights: Tensor[float, 1]) -> Each[float]:
    return table[at] * weights[at]
