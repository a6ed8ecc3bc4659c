import slangad as sa
from slangad import Each, float2x2


@sa.struct
class Ball:
    center: float
    radius: float


@sa.kernel(dims=2)
def f(ball: Each[Ball], m: Each[float2x2]) -> Each[float]:
    c, r = ball
    u, v = m
    i, j = sa.thread_id()
    return c
