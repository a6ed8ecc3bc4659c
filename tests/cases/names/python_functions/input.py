import math

import numpy as np

import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    a = isinstance(x, float)
    b = np.sin(x)
    c = np.linalg.norm(x)
    d = math.gcd(3, 4)
    e = sorted(x)
    g = divmod(x, 2.0)
    h = list(x)
    i = str(x)
    j = np.float32(x)
    k = complex(x)
    return x
