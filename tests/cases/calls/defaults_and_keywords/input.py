import slangad as sa
from slangad import Array, float2, float3

FACTOR = 2.0


@sa.struct
class Ball:
    center: float3
    radius: float = 0.5


@sa.differentiable
def f(
    x: float, k: float = 2, n: int = 3, v: float2 = float2(1.0, 2.0), b: bool = True, scale: float = FACTOR, ball: Ball = Ball(float3(1.0))
) -> float:
    return x * k * n * v.x * scale * ball.radius if b else x


@sa.differentiable
def only(x: float, /, y: float, *, z: float = 1.0) -> float:
    return x * y * z


@sa.differentiable
def table(i: int, weights: Array[float, 2] = Array[float, 2](0.5, 0.25)) -> float:
    return weights[i]


@sa.differentiable
def g(x: float) -> float:
    a = f(x) + f(x, 1) + f(x, n=2) + f(b=False, x=x) + f(x, 1.0, 2, float2(x), True, x)
    return a + only(x, 2.0) + only(x, y=2, z=x) + table(1) + f(x, ball=Ball(float3(x)))
