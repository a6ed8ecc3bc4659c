import slangad as sa
from slangad import Array, Each, Uniform

TURNS = 6


@sa.differentiable
def series(x: float, n: int) -> float:
    total = 0
    term = 1.0
    for i in sa.range(n, max_iters=8):
        if i == 5:
            break
        term = term * x / (i + 1)
        total = total + term
    else:
        total = total + 1.0
    return total


@sa.differentiable
def newton(x: float) -> float:
    y = x
    while sa.max_iters(16) and abs(y * y - x) > 1e-4:
        y = 0.5 * (y + x / y)
        if y < 0.0:
            continue
    return y


@sa.differentiable
def horner(c: Array[float, 4], x: float) -> float:
    value = 0.0
    for coefficient in c:
        value = value * x + coefficient
    for i, coefficient in enumerate(c):
        value += coefficient * i
    for j in reversed(range(0, TURNS, 2)):
        for k in sa.range(3, unroll=True):
            value += 0.1 * (j - k)
    return value


@sa.kernel
def run(x: Each[float], c: Each[Array[float, 4]], n: Uniform[int]) -> Each[float]:
    return series(x, n) + newton(x + 2.0) + horner(c, x)
