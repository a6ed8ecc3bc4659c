"""Kernels over more groups of threads than GPUs take along an axis."""

import slangad as sa
from slangad import Each, Sum, Tensor, float3


@sa.kernel(dims=2)
def square(x: Each[float]) -> Each[float]:
    return x * x * float(sa.thread_id(1) + 1)


@sa.kernel(dims=3, group_size=(2, 2, 2))
def box(x: Each[float], w: Tensor[float, 2]) -> Each[float3]:
    place = float3(float(sa.thread_id(0)), float(sa.thread_id(1)), float(sa.thread_id(2)))
    return place + float3(w[int(x), 0], 0.0, 0.0)


@sa.kernel(dims=2)
def total(x: Each[float]) -> Sum[float]:
    return x * x * float(sa.thread_id(1) + 1)


@sa.kernel
def line(x: Each[float]) -> Each[float]:
    return x * x
