"""Sums of every type of number in one file, and of two types in one kernel."""

import slangad as sa
from slangad import Each, Mean, Param, Sum, double, float3, int2, uint


@sa.kernel
def singles(x: Each[float], a: Param[float]) -> Sum[float]:
    return a * x


@sa.kernel
def doubles(x: Each[double], a: Param[double]) -> Sum[double]:
    return a * x


@sa.kernel
def whole(n: Each[int], m: Each[uint]) -> tuple[Sum[int], Sum[uint], Sum[int2]]:
    return n, m, int2(n, 2 * n)


@sa.kernel
def mixed(n: Each[int], x: Each[float], a: Param[float]) -> tuple[Sum[int], Sum[float], Mean[float]]:
    return n, a * x, a * a * x


def products(group: tuple[int, ...]) -> object:
    """A kernel of eight sums, or of eight in a plane, whose groups have few powers of two as threads."""

    @sa.kernel(dims=len(group), group_size=group)
    def products(x: Each[float], a: Param[float3], b: Param[float3]) -> tuple[Sum[float], Mean[float]]:
        return sa.dot(a, b) * x, sa.dot(a, a) * x

    return products


in_rows = products((300,))
in_oblongs = products((17, 19))
in_squares = products((18, 18))
