import numpy as np
import slangad as sa
from slangad import Each

PAIRS = ((1.0, 2.0), (3.0, 4.0))
PN = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@sa.kernel
def k(x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(2):
        a, b = PAIRS[i]
        s += a * x + b
    return s


@sa.kernel
def k2(x: Each[float]) -> Each[float]:
    a, b = PAIRS[1]
    s = a * x + b
    for a, b in PAIRS:
        s += a * b * x
    for j, (a, b) in enumerate(PN):
        s += a * b * x
    for i in range(2):
        a, b = PN[i]
        s += a * x + b
    return s
