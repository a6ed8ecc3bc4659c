"""Rows of numbers, one a group: attention and layer normalisation, with losses."""

import slangad as sa
from slangad import Each, NoDiff, Param, Sum, Tensor


@sa.kernel(group_size=(64,))
def attention(score: Each[float], heat: Param[float], value: NoDiff[Each[float]]) -> Sum[float]:
    x = heat * score
    e = sa.exp(x - sa.group_max(x))
    return value * e / sa.group_sum(e)


@sa.kernel(group_size=(256,))
def layer_norm(
    x: Each[float], gain: Tensor[float, 1], offset: Tensor[float, 1], seen: NoDiff[Each[float]]
) -> Sum[float]:
    k = sa.thread_id() % 256
    mean = sa.group_sum(x) / 256.0
    away = x - mean
    variance = sa.group_sum(away * away) / 256.0
    return seen * (gain[k] * away * sa.rsqrt(variance + 1e-5) + offset[k])
