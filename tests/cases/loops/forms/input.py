import slangad as sa
from slangad import Array, float2x3, float3

COUNT = 3
TABLE = (1.0, 2.0, 4.0)


@sa.differentiable
def counted(x: float) -> float:
    s = 0.0
    for i in range(4):
        s += x * i
    for i in range(1, COUNT + 1):
        s += x / i
    for i in range(6, 0, -2):
        s -= x * i
    for i in range(3, 3):
        s = 100.0
    for _ in sa.range(3, unroll=True):
        s *= x
    return s


@sa.differentiable
def bounded(x: float, n: int) -> float:
    s = 0.0
    for i in sa.range(n, max_iters=8):
        s += x * i
    for i in sa.range(1, n, 2, max_iters=8):
        s += x
    for i in sa.range(n, 0, -1, max_iters=8):
        s -= x * i
    return s


@sa.differentiable
def conditional(x: float) -> float:
    n = 0
    while sa.max_iters(16) and x < 10.0:
        x *= 2.0
        n += 1
    while sa.max_iters(3):
        x += 1.0
        if x > 12.0:
            break
    while sa.max_iters(8) and x > 1.0 and n > 0:
        x *= 0.5
        n -= 1
    return x + n


@sa.differentiable
def over_values(a: Array[float, 3], v: float3, m: float2x3) -> float:
    s = 0.0
    for x in a:
        s += x
    for x in v:
        s *= x
    for row in m:
        s += row.x
    for x in TABLE:
        s += x
    for x in v * 2.0:
        s += x
    for i, x in enumerate(a):
        s += x * i
    for i, x in enumerate(a, 1):
        s += x * i
    for i, x in enumerate(v, start=COUNT):
        s += x * i
    for x, y in zip(a, v):
        s += x * y
    for i, x in zip(range(1, 7, 2), a):
        s += i * x
    for i in reversed(range(1, 7, 2)):
        s += i
    for x in reversed(a):
        s = s * 0.5 + x
    for i, (x, y) in enumerate(zip(a, v)):
        s += i * x * y
    return s
