"""Deltas of huber that are constants and not positive are refused at the argument."""

import slangad as sa
from slangad import float2

DELTA = 0.0
WHOLE = 3


@sa.differentiable
def f(x: float2, y: float2, delta: float) -> float:
    total: float = sa.nn.huber(x, y, delta=-1)
    total += sa.nn.huber(x, y, 0.0)
    total += sa.nn.huber(x, y, DELTA)
    total += sa.nn.huber(x, y, delta=-DELTA)
    total += sa.nn.huber(x, y, delta=-WHOLE)
    total += sa.nn.huber(target=y, delta=1e400, prediction=x)
    return total + sa.nn.huber(x, y, delta) + sa.nn.huber(x, y, WHOLE) + sa.nn.huber(x, y, delta=0.5)
