import math

import slangad as sa
from slangad import Each, Sum, Tensor

HALF_WIDTH = 8
MASK = 0b1010
RATE = 0.25
REST = 1 - RATE
TAPS = (0.25, 0.5, 0.25)


@sa.differentiable
def loops(x: float) -> float:
    y = 0.0
    for k in range(HALF_WIDTH - 1):
        y += x * k
    for k in range(-HALF_WIDTH, 2 * (HALF_WIDTH + 1), HALF_WIDTH // 3):
        y += x * k
    for k in reversed(range(1, HALF_WIDTH)):
        y += x / float(HALF_WIDTH - k)
    while sa.max_iters(2 * HALF_WIDTH) and y < 3.0:
        y += 1.0
    for k in sa.range(int(x), max_iters=HALF_WIDTH * 4):
        y += k
    return y * (1 - RATE) + REST


@sa.kernel
def numbers(x: Each[float], h: Each[sa.half], n: Each[sa.uint], w: Tensor[float, 1]) -> Sum[float]:
    a = sa.Array[float, HALF_WIDTH]()
    y = a[HALF_WIDTH - 1] + a[-1] + TAPS[HALF_WIDTH - 6] + w[HALF_WIDTH + 1] + w[-HALF_WIDTH]
    i = HALF_WIDTH // 2 + HALF_WIDTH % 3 - (1 - HALF_WIDTH) // 3 - -HALF_WIDTH + HALF_WIDTH**2
    m = n % HALF_WIDTH + (n & (1 << HALF_WIDTH) - 1) + (n ^ (MASK | 1)) + (n >> (HALF_WIDTH >> 1))
    z = x * (HALF_WIDTH / 3) + math.pi / 3 * x + math.pi * x + 2.0 / 3.0 - math.inf
    wide = 2_000_000_000 if HALF_WIDTH * 1_000_000_000 > 1 else 1
    return y + z + i + float(m) + float(h * RATE + h * HALF_WIDTH) + float(HALF_WIDTH - 2) + x**HALF_WIDTH + wide
