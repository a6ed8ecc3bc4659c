"""Fits a curve through points: knots with straight lines between them, times a gain."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Tensor


@sa.kernel
def fit(at: NoDiff[Each[float]], seen: NoDiff[Each[float]], knots: Tensor[float, 1], gain: Param[float]) -> Mean[float]:
    """The squared error at one point; ``at`` is from 0 to 1."""
    place = sa.saturate(at) * float(knots.shape[0] - 1)
    first = max(0, min(int(place), knots.shape[0] - 2))
    error: float = gain * sa.lerp(knots[first], knots[first + 1], place - float(first)) - seen
    return error * error
