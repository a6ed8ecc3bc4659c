"""Loops: scalars that meet vectors in and after them, bounds, nesting, early exits."""

import slangad as sa
from slangad import Each, NoDiff, Uniform, float2, float2x2, float3


@sa.kernel
def leaving(v: Each[float3], t: Each[float]) -> Each[float3]:
    s = 1.0
    for _ in range(3):
        s = s * t
    return v * s + v / s - s * v


@sa.kernel
def carried(v: Each[float3], t: Each[float]) -> Each[float3]:
    a = v
    for _ in range(3):
        a = a * t + a / t - t
    return a


@sa.kernel
def matrices(m: Each[float2x2], t: Each[float]) -> Each[float2x2]:
    a = m
    s = t
    for _ in range(2):
        a = a * t - m / 3.0
        s = s * t
    return -(a - s * m) / t


@sa.kernel
def matrices_straight(m: Each[float2x2], n: Each[float2x2], t: Each[float]) -> Each[float2x2]:
    return m * t - n / t + t * (-m) + m / n


@sa.kernel
def in_branch(v: Each[float3], y: Each[float]) -> Each[float3]:
    r = v
    if y > 0.0:
        r = v * y
        r = r + y
    else:
        r = y - v
    return r * y if v.x > 0.0 else r / y


@sa.kernel
def straight(v: Each[float3], y: Each[float]) -> Each[float3]:
    return v * y + y / v - 2.0 * v


@sa.struct
class Lens:
    power: float
    shift: float2


@sa.kernel
def computed(
    v: Each[float3], y: Each[float], z: Each[float], lens: Each[Lens], passive: NoDiff[Each[float]]
) -> Each[float3]:
    s = y * z + 1.5
    copy = y
    pair = float2(z, y)
    near = s * v - s / v + (v - s) + y * z * v
    far = lens.power * v + lens.shift.y - v * lens.shift.x
    return near * far + copy * v + copy / v - pair.y * v + passive * v + passive + sa.sin(y) * v - z


@sa.kernel
def passive_in_loop(v: Each[float3], y: Each[float], passive: NoDiff[Each[float]]) -> Each[float3]:
    r = passive * v
    for _ in range(3):
        r += passive * v * y + passive
    return r * passive + passive / r


@sa.kernel
def computed_in_loops(v: Each[float3], y: Each[float], z: Each[float], lens: Each[Lens]) -> Each[float3]:
    once = y * z + 1.5
    fading = 0.7 * z + 0.4
    r = v * v + 0.5
    for i in range(3):
        inner = fading * y + 0.2
        r = 0.3 * r + inner * v * once + lens.power * r - v / once
        if fading * y > 0.4:
            r = lens.shift.x - r * (fading * z)
        fading = 0.9 * fading + 0.05 * r.x + 0.01 * i
    after = fading * z + 0.2
    r = after * r + r / once + sa.sin(fading) * v - after
    return r if r.x > 0.0 else 0.5 * (once * r) + lens.power


@sa.kernel
def bounded(x: Each[float], n: Each[int]) -> Each[float]:
    s = x
    for i in sa.range(n, max_iters=5):
        s = s * x + i
    return s


@sa.kernel
def bounded_from(x: Each[float], n: Each[int]) -> Each[float]:
    s = x
    for i in sa.range(n, 5, max_iters=5):
        s = s * x * 0.5 + i
    for i in sa.range(5, n, -2, max_iters=3):
        s = s * x + i
    return s


@sa.kernel
def past_the_bound(x: Each[float], n: Uniform[float]) -> Each[float]:
    s = x
    while sa.max_iters(3) and s < 1e9:
        s = s * x + 1.0
    return s


@sa.kernel
def compound_condition(x: Each[float], limit: Each[NoDiff[float]]) -> Each[float]:
    s = x * x
    k = 0
    while sa.max_iters(8) and (s < 4.0 and k < 6):
        s = s * 1.5 + x
        k += 1
    return s * k


@sa.kernel
def nested(x: Each[float], n: Each[int]) -> Each[float]:
    s = 0.0
    for i in range(3):
        t = x
        for j in sa.range(n, max_iters=4):
            t = t * x * 0.5 + j
            if t > 5.0:
                break
        s += t * i
    return s


@sa.kernel
def triangular(x: Each[float]) -> Each[float]:
    s = 0.0
    for i in range(4):
        for j in sa.range(i, max_iters=4):
            if j == 2:
                continue
            s = s * 0.5 + x * x
    return s


@sa.kernel
def early_return(x: Each[float]) -> Each[float]:
    s = x
    for _ in range(6):
        s = s * x + 0.5
        if s > 2.0:
            return s * 3.0
    return s


@sa.kernel
def otherwise(x: Each[float]) -> Each[float]:
    s = x
    for _ in range(3):
        s = s * x
        if s > 1.2:
            break
    else:
        s = s * s
    return s


@sa.kernel
def after(x: Each[float]) -> Each[float]:
    last = 0.0
    for i in range(4):
        last = x * i
        keep = last * x
    return last + keep + i


@sa.kernel
def previous(x: Each[float]) -> Each[float]:
    before, now = 0.0, x
    for _ in range(5):
        before, now = now, now * x + before
    return now


@sa.kernel
def state(x: Each[float], v: Each[float3]) -> Each[float3]:
    a = sa.Array[float3, 3]()
    for i in range(3):
        a[i] = v * x + float(i)
    s = float3(0.0)
    for i in range(3):
        s = s + a[i] * a[2 - i]
    return s


@sa.kernel
def counter_afterwards(x: Each[float], n: Each[float]) -> Each[float]:
    for i in range(5, 1, -1):
        last = i * x
        k = i
    for j in range(3):
        v = float3(x * j)
    k += int(n * 0.0)
    return last * k + v.y
