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


@sa.differentiable
def pulled(place: float, speed: float, x: float, k: int) -> tuple[float, float]:
    later = speed - 0.01 * sa.sin(place * x) / (1.0 + 0.01 * k)
    return place + 0.01 * later, later


@sa.kernel
def stepped(x: Each[float], n: Uniform[int]) -> Each[float]:
    place = x
    speed = 0.5
    for k in sa.range(n, max_iters=MOST):
        place, speed = pulled(place, speed, x, k)
    return place + speed * speed


@sa.kernel
def paired(x: Each[float], n: Uniform[int]) -> Each[float]:
    pair = pulled(x, 0.5, x, 0)
    first = pair
    s = 0.0
    for k in sa.range(n, max_iters=MOST):
        pair = pulled(pair[0], pair[1], x, k)
        s += 0.001 * pair[1] * first[0]
        if pair[0] > 1.4:
            break
    return s + pair[0] + pair[1] * pair[1] + first[1]


@sa.differentiable
def trace(place: float, speed: float, x: float, n: int) -> tuple[float, float]:
    for k in sa.range(n, max_iters=MOST):
        place, speed = pulled(place, speed, x, k)
        if place > 1.2:
            return pulled(place, speed, 2.0, k)
        if speed < -0.05:
            return speed, place
    return place, 1.0


@sa.kernel
def traced(x: Each[float], n: Uniform[int]) -> Each[float]:
    place, speed = trace(x, 0.3, x, n)
    return place + speed * speed


@sa.differentiable
def seen(x: float, k: int) -> tuple[float, float, int]:
    return 0.3 * x / (1.0 + k), sa.sin(x * (k % 11)), k % 3


@sa.kernel
def blended(x: Each[float], n: Uniform[int]) -> Each[float]:
    light = 0.0
    t = 1.0
    for k in sa.range(n, max_iters=MOST):
        alpha, colour, kind = seen(x, k)
        light += t * colour * kind / (1.0 + k)
        t *= 1.0 - alpha
    return light + t


@sa.kernel
def added(x: Each[float], n: Uniform[int]) -> Each[float]:
    s = 0.0
    for k in sa.range(n, max_iters=MOST):
        alpha, colour, _ = seen(x, k)
        s += alpha * colour / (1.0 + k)
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


@sa.differentiable
def turn(a: float, b: float, t: float) -> tuple[float, float]:
    """A rotation without sin and cos: the squares of NVIDIA's on Vulkan add up to less than 1."""
    c = (1.0 - t * t) / (1.0 + t * t)
    s = 2.0 * t / (1.0 + t * t)
    return c * a - s * b, s * a + c * b


@sa.function
def unturn(a: float, b: float, k: int, weights: Tensor[float, 1]) -> tuple[float, float]:
    a, b = turn(a, b, -0.1 * weights[k % 7] / (1.0 + 0.01 * k))
    return a, b


@sa.kernel
def unturned(x: Each[float], weights: Tensor[float, 1], n: Uniform[int]) -> Each[float]:
    a = x
    b = 0.5
    total = 0.0
    for k in sa.range(n, max_iters=MOST, inverse=unturn):
        a, b = turn(a, b, 0.1 * weights[k % 7] / (1.0 + 0.01 * k))
        total += a * b / (1.0 + k)
    return total


@sa.kernel
def scattered(x: Each[float], n: Uniform[int]) -> Each[float]:
    light = 0.0
    t = 1.0
    u = 1.0
    events = 0
    for k in sa.range(n, max_iters=MOST):
        if k % 2 == 0:
            half = 0.15 * x
            alpha = half / (1.0 + k)
        else:
            alpha = 0.3 * x / (1.0 + k)
        light += t * alpha
        if k % 3 == 1:
            continue
        light += t * u * alpha * (1.0 + events % 4)
        t *= 1.0 - alpha
        u *= 1.0 + 0.1 * alpha
        events += 1
    return light + t * u


@sa.kernel
def counted_down(x: Each[float], n: Uniform[int]) -> Each[float]:
    s = 0.0
    t = 1.0
    for k in reversed(sa.range(n, max_iters=MOST)):
        for j in reversed(sa.range(k % 3 + 1, max_iters=3)):
            s = 0.9 * s + t * x * j / (1.0 + k)
        t *= 1.0 - 0.3 * x / (1.0 + k)
    return s + t
