import slangad as sa
from slangad import half3


@sa.differentiable
def int_then_float(x: float) -> float:
    s = 0
    for i in range(3):
        s = s + x
    return s


@sa.differentiable
def float_after_branch(x: float) -> float:
    if x > 0.0:
        a = 1
    else:
        a = 0.5
    b = a
    b = b + 1
    return a * b


@sa.differentiable
def stays_int(x: float) -> float:
    n = 1
    n = n + 2
    n //= 2
    return x * n


@sa.differentiable
def divided(x: float) -> float:
    n = 7
    q = n / 2
    n = n // 2
    return q * n * x


@sa.differentiable
def half_value(h: sa.half) -> sa.half:
    a = h
    a = 2
    b = 1.5 * h
    b = 0.1
    return a * b


@sa.differentiable
def uint_value(u: sa.uint, x: float) -> float:
    a = u
    a = a * 3 + 1
    a = 7
    return x * float(a)


@sa.differentiable
def declared(x: float) -> float:
    s: float = 0
    t: sa.double = 1
    h: sa.half
    h = 0.1
    n: int = 3
    for i in range(3):
        s += n
        t = t * 0.5
    return s * float(t) * float(h)


@sa.differentiable
def chained(x: float) -> float:
    a = b = x * 2.0
    a += 1.0
    c: float = 2.0
    return a * b * c


@sa.differentiable
def parameter(x: float, n: int) -> float:
    x = n
    x = 3
    n = 4
    return x * n


@sa.differentiable
def augmented(x: float, v: half3, n: int, u: sa.uint) -> float:
    x += 1
    x -= n
    x *= 2
    x /= 3
    x //= 2
    x %= 5
    x **= 2
    n <<= 2
    n |= 1
    n ^= 3
    n &= 15
    n >>= 1
    u += 3
    v *= 2
    v = v + 1
    return x * n * float(u) * float(v.x)
