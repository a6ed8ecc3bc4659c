"""Bounds that are known without being literals: locals, lengths, shapes, and the variables of outer loops."""

import numpy as np

import slangad as sa
from slangad import Array, Each

WEIGHTS = np.float32([[1, 2, 3], [4, 5, 6]])


@sa.differentiable
def triangle(x: float) -> float:
    total = 0.0
    for i in range(4):
        for j in range(i):
            total += x * j
        for j in range(i, 2 * i + 1):
            total += x
    return total


@sa.differentiable
def local_bound(x: float) -> float:
    n = 4
    last = n - 1
    total = 0.0
    for i in range(last, -1, -1):
        total = total * x + i
    return total


@sa.differentiable
def length(a: Array[float, 3]) -> float:
    n = len(a)
    total = 0.0
    for i in range(n):
        total += a[i] * 2.0**i
    return total


@sa.differentiable
def table(x: float) -> float:
    total = 0.0
    for i in range(WEIGHTS.shape[0]):
        for j in range(WEIGHTS.shape[1]):
            total += WEIGHTS[i, j] * x
    return total


@sa.differentiable
def backwards(x: float, n: int) -> float:
    """The loops count down from bounds that the file does not know."""
    total = 0.0
    for i in range(4):
        for j in reversed(range(i + 1)):
            total = total * x + j
        for j in reversed(range(3, i, -1)):
            total = total * x - j
    for k in reversed(sa.range(1, n, max_iters=8)):
        total = 0.5 * total + x * k
    return total


@sa.kernel
def filled(x: Each[float], k: Each[int]) -> Each[float]:
    a = Array[float, 4](1.0)
    a[1] = x
    known = triangle(x) + local_bound(x) + length(Array[float, 3](x)) + table(x)
    return backwards(x, k) + known + a[0] * a[1] * 10.0**k
