"""A kernel for the Bazel sample."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param


@sa.kernel
def fit(x: NoDiff[Each[float]], slope: Param[float], seen: NoDiff[Each[float]]) -> Mean[float]:
    error = slope * x - seen
    return error * error
