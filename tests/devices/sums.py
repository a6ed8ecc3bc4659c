"""Sums of every type of number in one file, and of two types in one kernel."""

import slangad as sa
from slangad import Each, Mean, Param, Sum, double, int2, uint


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
