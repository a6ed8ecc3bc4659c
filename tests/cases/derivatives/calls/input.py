import slangad as sa
from slangad import Each, NoDiff, float3


@sa.struct
class Ball:
    center: float3
    radius: float

    def area(self, k: float) -> float:
        return self.radius * k

    @staticmethod
    def unit(k: float) -> float:
        return k * k


@sa.differentiable
def g(x: float, v: float3, n: int, k: NoDiff[float]) -> float:
    return v.x * x * n * k


@sa.differentiable
def square(x: float) -> float:
    return x * x


@sa.differentiable
def pair(x: float) -> tuple[float, float3]:
    return x * x, float3(x)


@sa.function
def normal(x: float, v: float3) -> float3:
    d_x, d_v = sa.bwd_diff(g)(x, v, 2, 0.5, 1.0)
    d = sa.bwd_diff(square)(x, 1)
    p = sa.fwd_diff(square)(sa.diff_pair(x, 1.0))
    q = sa.fwd_diff(g)(sa.diff_pair(x, 0), sa.diff_pair(v, float3(1.0)), 3, x)
    r = sa.diff_pair(v, v)
    e = sa.bwd_diff(pair)(x, (1.0, v))
    ball = Ball(v, x)
    d_ball, d_k = sa.bwd_diff(Ball.area)(ball, x, 1.0)
    d_u = sa.bwd_diff(Ball.unit)(k=x, d_out=2.0)
    return d_v * d_x * d * p.p * p.d * q.d + r.p + r.d + e + d_ball.center * d_k * d_u


@sa.differentiable
def through(x: float) -> float:
    """Forward mode inside a differentiated function."""
    p = sa.fwd_diff(square)(sa.diff_pair(x, 1.0))
    return p.d * x


@sa.kernel
def k(x: Each[float], v: Each[float3]) -> Each[float3]:
    return sa.no_diff(normal(x, v)) * through(x)
