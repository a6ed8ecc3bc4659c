"""Arguments at the end that equal their defaults are no part of the name."""

import slangad as sa
from slangad import Array


def polynomial(degree, number=float, scale=1.0):
    @sa.struct
    class Polynomial:
        c: Array[number, degree]

        def __call__(self, x: number) -> number:
            y = number(0.0)
            for i in range(degree):
                y = y * x + self.c[i]
            return y * number(scale)

    return Polynomial


A, B, C, D = polynomial(2), polynomial(2, sa.half), polynomial(2, float, 1.0), polynomial(2, scale=2.0)


@sa.differentiable
def f(a: A, b: B, c: C, d: D, x: float) -> float:
    return a(x) + float(b(sa.half(x))) + c(x) + d(x)
