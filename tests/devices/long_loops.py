"""Loops of any length, in every way of reverse mode, with bounds that are known only at run time."""

import slangad as sa
from slangad import Each, NoDiff, Tensor, Uniform

MOST = 100_000


@sa.kernel
def total(x: Each[float], n: Uniform[int]) -> Each[float]:
    s = x
    for k in sa.range(n, max_iters=MOST):
        s += x * x / (1.0 + k)
    return s


@sa.kernel
def product(x: Each[float], n: Uniform[int]) -> Each[float]:
    s = 0.0
    t = 1.0
    for k in sa.range(n, max_iters=MOST):
        s += t / (1.0 + k)
        t *= 1.0 - 0.3 * x / (1.0 + k)
    return s + t


@sa.kernel
def dark(x: Each[float], n: Uniform[int]) -> Each[float]:
    s = 0.0
    t = 1.0
    for k in sa.range(n, max_iters=MOST):
        s += t / (1.0 + k)
        t *= 1.0 - 0.1 * x * (3.0 + sa.cos(k * x))
    return s + t


@sa.kernel
def recomputed(x: Each[float], n: Uniform[int]) -> Each[float]:
    s = x
    for k in sa.range(n, max_iters=MOST):
        s = s * 0.999 + 0.01 * sa.sin(s * x) / (1.0 + 0.1 * k)
    return s


@sa.kernel
def left(x: Each[float], weights: Tensor[float, 1], order: NoDiff[Tensor[int, 1]], n: Uniform[int]) -> Each[float]:
    s = 0.0
    t = 1.0
    for k in sa.range(n, max_iters=MOST):
        w = weights[order[k % order.shape[0]]]
        s += t * w * x
        t *= 1.0 - 0.01 * w * w * x
        if t < 0.2:
            break
    return s + t


@sa.kernel
def until(x: Each[float], weights: Tensor[float, 1], n: Uniform[int]) -> Each[float]:
    s = x
    k = 0
    while sa.max_iters(MOST) and (s < 2.8 and k < n):
        s = s + 0.01 * sa.cos(s * weights[k % weights.shape[0]]) + 0.02
        k += 1
        if s > 2.9:
            break
    else:
        s = s * 2.0
    return s


@sa.function
def turned_back(a: float, b: float, k: int, weights: Tensor[float, 1]) -> tuple[float, float]:
    c = sa.cos(0.1 * weights[k % 7])
    s = sa.sin(0.1 * weights[k % 7])
    return c * a + s * b, c * b - s * a


@sa.kernel
def turned(x: Each[float], weights: Tensor[float, 1], n: Uniform[int]) -> Each[float]:
    a = x
    b = 0.5
    total = 0.0
    for k in sa.range(n, max_iters=MOST, inverse=turned_back):
        c = sa.cos(0.1 * weights[k % 7])
        s = sa.sin(0.1 * weights[k % 7])
        before = a
        a = c * a - s * b
        b = s * before + c * b
        total += a * b / (1.0 + k)
        if a > 1.15:
            break
    return total
