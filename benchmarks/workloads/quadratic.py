"""W1: a quadratic with three shared parameters."""

import slangad as sa
from slangad import Each, NoDiff, Param, Sum


@sa.kernel
def fit(x: NoDiff[Each[float]], a: Param[float], b: Param[float], c: Param[float]) -> Sum[float]:
    return a * x * x + b * x + c
