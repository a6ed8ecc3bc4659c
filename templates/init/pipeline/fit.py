"""Fits the curve of a camera: light, then exposure, then what the sensor makes of it."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param


@sa.kernel(ranges={"time": (0.0, 3.0), "rate": (0.1, 3.0)})
def light(time: NoDiff[Each[float]], strength: Param[float], rate: Param[float]) -> Each[float]:
    """The light at a time."""
    return strength * sa.exp(-rate * time)


@sa.kernel(ranges={"amount": (0.0, 2.0), "gain": (0.5, 2.0)})
def expose(amount: Each[float], gain: Param[float]) -> Each[float]:
    """What the sensor makes of light."""
    return 1.0 - sa.exp(-gain * amount)


@sa.kernel
def mismatch(found: Each[float], seen: NoDiff[Each[float]]) -> Mean[float]:
    """The squared error of one measurement."""
    return (found - seen) * (found - seen)


@sa.pipeline(optimizer=sa.Adam(lr=0.05))
def fit(
    time: NoDiff[Each[float]],
    seen: NoDiff[Each[float]],
    strength: Param[float],
    rate: Param[float],
    gain: Param[float],
) -> Mean[float]:
    """The three kernels share a domain and become one."""
    return mismatch(expose(light(time, strength, rate), gain), seen)
