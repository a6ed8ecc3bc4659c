import slangad as sa
from slangad import Array, float2x3, float3


@sa.struct
class Ball:
    radius: float


@sa.differentiable
def f(x: float, n: int, a: Array[float, 3], ball: Ball, m: float2x3) -> float:
    for v in x:
        x += 1.0
    for v in ball:
        x += 1.0
    for v in enumerate(a):
        x += 1.0
    for i, v, w in enumerate(a):
        x += 1.0
    for v in zip(a, a):
        x += 1.0
    for v, w in zip(a, range(n)):
        x += 1.0
    for v in reversed(range(n)):
        x += 1.0
    for v in reversed(x):
        x += 1.0
    for v in zip():
        x += 1.0
    for i, v in enumerate(a, n):
        x += 1.0
    for i, v in enumerate(a, stop=1):
        x += 1.0
    for ball.radius in range(3):
        x += 1.0
    for a[0] in range(3):
        x += 1.0
    for i in sa.range(3, unroll=n):
        x += 1.0
    for i in sa.range(3, step=2):
        x += 1.0
    return x
