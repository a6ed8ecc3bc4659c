"""Counters that a loop adds a constant to, with starts that are known only at run time."""

import slangad as sa
from slangad import Array, Each, Uniform


@sa.kernel
def one_after_another(w: Each[Array[float, 8]], x: Each[float]) -> Each[float]:
    at = 1
    y = x
    for _ in range(3):
        y *= w[at]
        at += 1
    for _ in range(3):
        y *= w[at]
        at += 1
    return y


@sa.kernel
def nested(w: Each[Array[float, 8]], x: Each[float]) -> Each[float]:
    at = 0
    y = 0.0
    for _ in range(3):
        h = x
        for _ in range(2):
            h *= w[at]
            at += 1
        y += h * h
    return y


@sa.kernel
def given(w: Each[Array[float, 16]], x: Each[float], first: Uniform[int]) -> Each[float]:
    at, back, even = first, first + 3, sa.uint(first)
    y = x
    for _ in range(3):
        y *= w[at] * w[back] * w[int(even)]
        following = at + 1
        at = following
        back -= 1
        even += sa.uint(2)
    return y
