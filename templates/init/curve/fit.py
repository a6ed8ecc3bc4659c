"""Fits a decay to measurements."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param


@sa.struct
class Decay:
    """What is fitted."""

    strength: float
    rate: float


@sa.differentiable(ranges={"time": (0.0, 3.0), "decay.rate": (0.1, 3.0)})
def brightness(decay: Decay, time: float) -> float:
    """The brightness at a time."""
    return decay.strength * sa.exp(-decay.rate * time)


@sa.kernel(ranges={"time": (0.0, 3.0), "decay.rate": (0.1, 3.0)})
def fit(decay: Param[Decay], time: NoDiff[Each[float]], seen: NoDiff[Each[float]]) -> Mean[float]:
    """The squared error of one measurement."""
    error = brightness(decay, time) - seen
    return error * error
