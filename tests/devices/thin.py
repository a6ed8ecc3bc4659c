"""Kernels over more groups of threads than GPUs take along an axis."""

import slangad as sa
from slangad import Each, Sum


@sa.kernel(dims=2)
def square(x: Each[float]) -> Each[float]:
    return x * x * float(sa.thread_id(1) + 1)


@sa.kernel(dims=2, group_size=(64, 1))
def tall(x: Each[float]) -> Each[float]:
    return x * x * float(sa.thread_id(1) + 1)


@sa.kernel(dims=2)
def total(x: Each[float]) -> Sum[float]:
    return x * x * float(sa.thread_id(1) + 1)


@sa.kernel
def line(x: Each[float]) -> Each[float]:
    return x * x
