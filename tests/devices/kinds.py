"""Sums and means of every type, and probes of one name in several kernels."""

import slangad as sa
from slangad import Each, Mean, Param, Sum, double2, float2


@sa.kernel
def half_mean(x: Each[sa.half2]) -> Mean[sa.half2]:
    return x * x


@sa.kernel
def half_sum(x: Each[sa.half], p: Param[sa.half]) -> Sum[sa.half]:
    return p * x * x


@sa.kernel
def double_sum(x: Each[double2]) -> Sum[double2]:
    return x * x


@sa.kernel
def mixed(x: Each[sa.half], n: Each[int]) -> tuple[Sum[sa.half], Sum[int], Mean[float]]:
    return x * x, n, float(x) * float(n)


@sa.kernel
def scalar_probe(x: Each[float]) -> Sum[float]:
    y = sa.probe("p", x * x)
    return y * 2.0


@sa.kernel
def vector_probe(x: Each[float2]) -> Sum[float]:
    y = sa.probe("p", x * x)
    return y.x * 2.0 + y.y


@sa.pipeline
def half_fit(x: Each[sa.half2]) -> Mean[sa.half2]:
    return half_mean(x)
