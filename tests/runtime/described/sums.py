"""Kernels and a pipeline to be called with derivatives of every kind, and of none."""

import slangad as sa
from slangad import Each, Param, Sum, Uniform


@sa.struct
class Line:
    slope: float
    offset: float


@sa.kernel
def bent(x: Each[float], p: Param[Line], k: Uniform[float]) -> Each[float]:
    return p.slope * x * x + k * p.offset


@sa.kernel
def squares(y: Each[float]) -> Sum[float]:
    return y * y


@sa.kernel
def pair(x: Each[float]) -> tuple[Each[float], Each[float]]:
    return x * x, 2.0 * x


@sa.pipeline
def whole(x: Each[float], p: Param[Line]) -> Sum[float]:
    return squares(bent(x, p, 2.0))
