"""Reads and writes at run-time indices."""

import slangad as sa
from slangad import Each, float3, float3x3


@sa.struct
class Ball:
    center: float3
    radius: float


@sa.struct
class Scene:
    weights: sa.Array[float, 4]
    balls: sa.Array[Ball, 2]


@sa.kernel
def product(x: Each[sa.Array[float, 4]], i: Each[int], j: Each[int]) -> Each[float]:
    return x[i] * x[j] + x[i] * 3.0


@sa.kernel
def beside_static(x: Each[sa.Array[float, 4]], i: Each[int]) -> Each[float]:
    return x[i] * x[2] * x[2]


@sa.kernel
def vector(v: Each[float3], i: Each[int], j: Each[int]) -> Each[float]:
    return v[i] * v[j] + v[i] * v.x + sa.dot(v, v)


@sa.kernel
def matrix(m: Each[float3x3], i: Each[int], j: Each[int]) -> Each[float]:
    return sa.dot(m[i], m[j]) + m[i, j] * m[j, i]


@sa.kernel
def in_loop(x: Each[sa.Array[float, 4]], w: Each[sa.Array[float, 4]], i: Each[int]) -> Each[float]:
    s = 0.0
    for k in range(4):
        s += x[k] * w[k] + x[k] * x[i]
    return s


@sa.kernel
def gather(x: Each[sa.Array[float, 4]], index: Each[sa.Array[int, 4]]) -> Each[float]:
    s = 1.0
    for k in range(4):
        s *= x[index[k]]
    return s


@sa.kernel
def stored(x: Each[sa.Array[float, 4]], i: Each[int], j: Each[int]) -> Each[float]:
    y = sa.Array[float, 4](x[0], x[1], x[2], x[3])
    y[i] = y[j] * y[i]
    y[j] += y[i] * 2.0
    return y[0] * y[1] + y[2] * y[3]


@sa.kernel
def structs(s: Each[Scene], i: Each[int], j: Each[int]) -> Each[float]:
    return s.weights[i] * s.weights[j] * sa.dot(s.balls[i % 2].center, s.balls[j % 2].center) * s.balls[0].radius


@sa.kernel
def changing(x: Each[sa.Array[float, 4]], i: Each[int]) -> Each[float]:
    k = i
    a = x[k]
    k = 3 - k
    return a * x[k] * x[3 - k]


@sa.kernel
def unrolled(x: Each[sa.Array[float, 4]], i: Each[int]) -> Each[float]:
    s = 0.0
    for k in sa.range(3, unroll=True):
        s += x[(i * k) % 4] * (k + 1.0) + x[k] * x[k + 1]
    return s


@sa.kernel
def compared(x: Each[sa.Array[float, 4]]) -> Each[float]:
    best = x[0]
    for k in range(1, 4):
        if x[k] > best:
            best = x[k]
    return best * best


@sa.kernel
def component(v: Each[float3], i: Each[int], s: Each[float]) -> Each[float3]:
    u = v * 1.0
    u[i] = s * v.y
    u[2 - i] *= u[i]
    return u


@sa.kernel
def remainders(x: Each[sa.Array[float, 12]], i: Each[int]) -> Each[float]:
    """An index that calls a function, twice."""
    return x[(i + 3) % 7] * sa.sin(x[(i + 3) % 7]) + x[i // 2] * x[i // 2]


@sa.kernel
def empty_first(x: Each[sa.Array[float, 12]], i: Each[int]) -> Each[float]:
    """An array of zeros with a store at an index of the data, and branches after it."""
    a = sa.Array[float, 12]()
    a[max(i + 2, 1)] = x[i] * x[i]
    for k in range(12):
        if k == i:
            a[i + 1] = sa.tanh(x[11 - i])
    total = 0.0
    for k in range(12):
        total += a[k] * sa.sin(float(k) + 1.0)
    return total


@sa.kernel
def beside_none(x: Each[float3], i: Each[int]) -> Each[float]:
    """Vectors of numbers with and without gradient."""
    return turned(x, 0.7, x.y)


@sa.differentiable
def turned(x: float3, s: sa.NoDiff[float], t: float) -> float:
    return sa.dot(float3(s, 0.3, t), float3(t, 0.3, x.x))


@sa.kernel
def emptied(x: Each[sa.Array[float, 12]], i: Each[int]) -> Each[float]:
    """An array that a branch sets to zeros, before a store at an index of the data."""
    a = sa.copy(x)
    if i < 2:
        a = sa.Array[float, 12]()
        a[i + 1] = sa.tanh(x[11 - i])
    total = 0.0
    for k in range(12):
        total += a[k] * sa.sin(float(k) + 1.0)
    return total


@sa.kernel
def copied(x: Each[sa.Array[float, 4]], i: Each[int]) -> Each[float]:
    """A copy is the same value to Slang: its entries meet those of the original."""
    y = sa.copy(x)
    return x[i] * y[2] + y[i] * y[i]


@sa.kernel
def copied_into_a_struct(x: Each[sa.Array[float, 4]], v: Each[float3], i: Each[int]) -> Each[float]:
    scene = Scene(weights=x, balls=sa.Array[Ball, 2](Ball(v, 1.0), Ball(v, 2.0)))
    w = v
    return x[i] * scene.weights[2] + v[i] * w[1]
