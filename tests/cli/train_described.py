"""A line through points, and what can't be trained."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Sum, Uniform, float2


@sa.struct
class Line:
    slope: float
    offset: float


@sa.kernel(ranges={"line.slope": (0.5, 0.6)})
def error(x: NoDiff[Each[float]], y: NoDiff[Each[float]], line: Param[Line]) -> Mean[float]:
    r = line.slope * x + line.offset - y
    return r * r


@sa.kernel
def alone(x: NoDiff[Each[float]], y: NoDiff[Each[float]], line: Param[Line]) -> tuple[Mean[float]]:
    r = line.slope * x + line.offset - y
    return (r * r,)


@sa.kernel
def among(
    x: NoDiff[Each[float]], y: NoDiff[Each[float]], line: Param[Line]
) -> tuple[Each[float], Sum[int], Mean[float2], Mean[float]]:
    r = line.slope * x + line.offset - y
    return r, 1, float2(r, x), r * r


@sa.kernel
def two(x: NoDiff[Each[float]], y: NoDiff[Each[float]], line: Param[Line]) -> tuple[Sum[float], Mean[float]]:
    r = line.slope * x + line.offset - y
    return r, r * r


@sa.kernel
def inner(x: Each[float], p: Param[float]) -> Each[float]:
    return x * p


@sa.kernel
def nothing(x: Each[float], u: Uniform[float]) -> Sum[float]:
    return x * u


@sa.kernel
def total(x: NoDiff[Each[float]]) -> Sum[float]:
    return x * x


@sa.pipeline
def dead(x: NoDiff[Each[float]], p: Param[float]) -> Sum[float]:
    inner(x, p)
    return total(x)


@sa.pipeline(optimizer=sa.SGD(lr=0.1))
def fit(x: NoDiff[Each[float]], y: NoDiff[Each[float]], line: Param[Line]) -> Mean[float]:
    return error(x, y, line)
