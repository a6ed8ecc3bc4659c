"""Loops whose reverse mode keeps no history: sums, updates that are undone, and states that are computed again."""

import slangad as sa
from slangad import Array, Each, NoDiff, Uniform, float2, float3


@sa.kernel
def total(x: Each[float], n: Each[int]) -> Each[float]:
    s = 1.0
    for k in sa.range(n, max_iters=300):
        s += sa.sin(x * k) / (k + 1)
    return s


@sa.kernel
def product_and_sum(
    a: Each[Array[float, 30]], c: Each[Array[float3, 30]], x: Each[float], t0: Each[float]
) -> Each[float3]:
    light = float3(0.0, 0.0, 0.0)
    through = 0.5 + 0.1 * t0
    for k in range(30):
        d = x - 0.1 * k
        alpha = min(a[k] * a[k] * sa.exp(-d * d), 0.9)
        light += c[k] * (alpha * through)
        through *= 1.0 - alpha
        if through < 1e-3:
            break
    return light + float3(through, through, through)


@sa.kernel
def skipping(a: Each[Array[float, 30]], x: Each[float]) -> Each[float]:
    light = 0.0
    through = 1.0
    for k in sa.range(30, keep=0):
        alpha = min(a[k] * a[k] * x * x, 0.9)
        if alpha < 0.1:
            continue
        light += alpha * through * k
        through *= 1.0 - alpha
        if through < 1e-3:
            break
    return light * through


@sa.kernel
def recomputed(x: Each[float], y: Each[float]) -> Each[float]:
    s = x
    for k in range(100):
        s = sa.sin(s + 0.1 * y * k)
    return s


@sa.kernel
def two_states(x: Each[float], v: Each[float2]) -> Each[float]:
    s = x
    w = v
    for k in sa.range(3, 103, 2, max_iters=100):
        w = w * float2(0.5, 0.4) + 0.2 * sa.cos(s + k) * v
        s = 0.5 * sa.sin(w.x * s - w.y)
    return s + w.x * w.y


@sa.kernel
def counting_down(x: Each[float], n: Each[int]) -> Each[float]:
    s = x
    for k in sa.range(2 * n + 60, n, -3, max_iters=70):
        s = sa.sin(s * x + 0.01 * k)
    return s


@sa.kernel
def leapfrog(place: Each[float], velocity: Each[float], stiff: Each[float]) -> Each[float]:
    p = place
    v = velocity
    for _ in sa.range(150, keep=0):
        v += -(0.5 + 0.1 * stiff) * sa.sin(p) * 0.05
        p += v * 0.05
    return p * v


@sa.kernel
def kept_every(x: Each[float]) -> Each[float]:
    s = x
    for k in sa.range(40, keep=7):
        s = sa.sin(s + 0.1 * k)
    for k in sa.range(40, keep=1):
        s = sa.sin(s + 0.1 * k)
    for k in sa.range(40, keep=64):
        s = sa.sin(s + 0.1 * k)
    return s


@sa.kernel
def newton(x: Each[float]) -> Each[float]:
    s = 2.0 + x
    k = 0
    while sa.max_iters(100) and sa.abs(s * s * s - 2.0 - x) > 1e-3:
        s = s - 0.05 * (s * s * s - 2.0 - x)
        k += 1
    return s * (1.0 + 0.01 * k)


@sa.kernel
def with_else(a: Each[Array[float, 30]], x: Each[float]) -> Each[float]:
    s = 1.0
    for k in sa.range(30, keep=4):
        s = s * 0.7 + a[k] * x
        if s > 2.0:
            break
    else:
        s = s * x
    return s


@sa.kernel
def nested(x: Each[float], n: Each[int]) -> Each[float]:
    s = 0.0
    for i in range(70):
        t = x
        for j in sa.range(n, max_iters=80):
            t = sa.sin(t * x + 0.1 * j)
            if t > 0.99:
                break
        s += t * i
    return s


@sa.kernel
def nested_sum(x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(70):
        for j in range(70):
            s += sa.sin(x * i) * j
    return s


@sa.differentiable
def inner(a: Array[float, 30], x: float, m: int) -> float:
    s = x
    for k in sa.range(m, max_iters=30, keep=5):
        s = sa.sin(s * a[k])
    return s


@sa.kernel
def called(a: Each[Array[float, 30]], x: Each[float]) -> Each[float]:
    s = x
    for k in sa.range(30, keep=5):
        s = 0.5 * s + inner(a, s, k)
    return s


@sa.struct
class Body:
    place: float2
    mass: float
    group: int


@sa.kernel
def structs(b: Each[Body], drag: Uniform[float]) -> Each[float2]:
    one = sa.copy(b)
    weights = Array[float, 3](0.1, 0.2, b.mass)
    for k in range(80):
        weights[k % 3] = sa.sin(weights[(k + 1) % 3] * b.mass)
        one.place = one.place * 0.9 + float2(weights[0], drag * one.mass)
        one.mass = sa.sin(one.mass + 0.3)
    return one.place * one.mass


@sa.kernel
def conditional_update(a: Each[Array[float, 30]], x: Each[float]) -> Each[float]:
    s = 0.0
    through = 1.0
    for k in sa.range(30, keep=0):
        alpha = 0.4 * sa.abs(sa.sin(a[k] * x))
        if alpha > 0.2:
            through *= 1.0 - alpha
            if through < 1e-4:
                break
            s += through
        else:
            s -= alpha * through
    return s


@sa.kernel(dims=2)
def on_grid(x: Each[float], w: NoDiff[Uniform[float]]) -> Each[float]:
    s = x
    last = 0.0
    for _ in range(90):
        last = s * w
        s = sa.sin(s + 0.1 * sa.thread_id(1) - 0.2 * sa.thread_id(0))
    return s * last


@sa.kernel
def never(x: Each[float], n: Each[int]) -> Each[float]:
    s = x
    for _ in sa.range(-n, max_iters=100):
        s = sa.sin(s)
    while sa.max_iters(100) and s > 100.0:
        s = s * 0.5
    return s * s


@sa.kernel
def integers(x: Each[float], n: Each[int]) -> Each[float]:
    s = 0.0
    h = n
    for _ in range(100):
        h = (h * 5 + 3) % 11
        s += sa.sin(x * h)
    return s


@sa.kernel
def going_dark(x: Each[float], a: Each[float3]) -> Each[float]:
    s = 0.0
    through = 1.0
    for k in range(100):
        s += through * sa.sin(x * k) + a.y
        through *= 0.4 + 0.02 * sa.sin(x * k) if k < 78 else 3.0 + 0.1 * a.x
    return s + 1e20 * through


@sa.kernel
def dark_at_once(x: Each[float], n: Each[int]) -> Each[float]:
    s = 0.0
    through = 0.0
    for k in sa.range(100 - n, max_iters=100):
        s += (1.0 + through) * sa.sin(x * k)
        through *= 0.5 * x
    return s + through


@sa.kernel
def dark_and_left(x: Each[float], a: Each[float3]) -> Each[float]:
    s = 0.0
    behind = float3(1.0, 1.0, 1.0)
    for k in sa.range(5, 105, max_iters=100):
        s += behind.y * k
        behind = behind * sa.exp(-0.3 * a * a * k)
        if k > 95 and x > 0.0:
            break
    return s + behind.x


@sa.kernel
def returning(x: Each[float], a: Each[float3]) -> Each[float3]:
    s = x
    for k in range(100):
        s = 0.9 * s + 0.2 * sa.cos(s + k)
        if k > 70 and s > 0.3:
            return a * s
        if k > 80:
            return s + a * a
    return a


@sa.differentiable
def first_hit(x: float, y: float) -> float:
    s = 0.0
    for i in range(100):
        t = x
        for j in range(100):
            t = sa.sin(t * y + 0.01 * j)
            if i > 3 and j > 50:
                return t * s
        s += t * i
    return s


@sa.kernel
def returning_from_inside(x: Each[float], y: Each[float]) -> Each[float]:
    return first_hit(x, y) * x
