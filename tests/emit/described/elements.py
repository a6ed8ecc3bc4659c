"""Loops over arrays: every way to index them, to read their elements and to change them."""

import slangad as sa
from slangad import Array, Each, float2, float3

N = 20
V = Array[float, N]
ROWS = 6
M = Array[V, ROWS]


@sa.struct
class Ball:
    at: float3
    size: float


@sa.kernel
def conditional(x: Each[V], n: Each[int]) -> Each[float]:
    """Reads that only some iterations make, at indices outside elsewhere."""
    total = 0.0
    for i in range(N):
        if i > 0:
            total += x[i] * x[i - 1]
        total += x[i] * (x[i + 1] if i < N - 1 else 1.0)
        if i + n < N and i + n >= 0:
            total += sa.sin(x[i + n])
    return total


@sa.kernel
def left(x: Each[V], y: Each[V], limit: Each[float]) -> Each[float]:
    """Loops that end early, that skip, that count down, by twos, from a bound."""
    total = 0.0
    for i in range(N):
        if total > limit:
            break
        total += x[i] * x[i]
    for i in range(N - 1, -1, -1):
        if x[i] < 0.0:
            continue
        total += y[i] * total * 0.01
    for i in range(1, N, 2):
        total += sa.sin(y[i] * x[i - 1])
    k = int(abs(limit))
    for i in sa.range(k, N, max_iters=N):
        total += y[i] * x[i]
    return total


@sa.kernel
def updated(x: Each[V], y: Each[V]) -> Each[float]:
    """Arrays whose elements change: by steps, in branches, beside others, backwards."""
    a = sa.copy(x)
    b = sa.copy(y)
    for i in range(0, N, 2):
        a[i] = sa.sin(a[i]) * b[i]
        if b[i] > 0.0:
            b[i] *= a[i]
    for i in range(N - 1, -1, -1):
        a[N - 1 - i] += b[i] * y[i]
    total = 0.0
    for i in range(N):
        a[i] -= total * 0.01
        total += a[i] * a[i]
    for i in range(N):
        total += a[i] * b[N - 1 - i]
    return total


@sa.kernel
def nested(x: Each[V], w: Each[M]) -> Each[float]:
    """Rows, columns, triangles, and an array that an inner loop changes."""
    y = Array[float, ROWS]()
    for i in range(ROWS):
        for j in range(N):
            y[i] += w[i][j] * x[j]
    z = V()
    for j in range(N):
        total = 0.0
        for i in range(ROWS):
            total += w[i][j] * sa.tanh(y[i])
        z[j] = total * x[j]
    low = 0.0
    for i in range(ROWS):
        for j in sa.range(i, max_iters=ROWS):
            low += w[i][j] * w[j][i] * z[j]
    return low


@sa.kernel
def balls(ball: Each[Array[Ball, 12]], at: Each[float3]) -> Each[float]:
    """Structs in arrays, and vectors."""
    near = 1e9
    for i in range(12):
        d = at - ball[i].at
        near = min(near, sa.dot(d, d) - ball[i].size * ball[i].size)
    mean = float3(0.0)
    for i in range(12):
        mean += ball[i].at * ball[i].size
    return near + sa.dot(mean, mean)


@sa.kernel
def looked_up(x: Each[V], table: Each[Array[int, N]], k: Each[int]) -> Each[float]:
    """Indices from other arrays, and from the state."""
    total = 0.0
    for i in range(N):
        total += x[table[i]] * x[i]
    j = k
    for i in range(N):
        total += x[j] * x[i]
        j = (j * 5 + 3) % N
    p = sa.copy(x)
    for i in range(N):
        p[table[i]] += total * 0.01 * x[i]
    for i in range(N):
        total += p[i] * p[i]
    return total


@sa.kernel
def pairs(points: Each[Array[float2, 16]]) -> Each[float]:
    """Forces of all pairs, added to both."""
    force = Array[float2, 16]()
    for i in range(16):
        for j in range(i + 1, 16):
            d = points[i] - points[j]
            f = d / (sa.dot(d, d) + 0.1)
            force[i] += f
            force[j] -= f
    energy = 0.0
    for i in range(16):
        energy += sa.dot(force[i], force[i])
    return energy


@sa.kernel
def convolved(x: Each[Array[Array[float, 6], 6]], w: Each[Array[Array[float, 3], 3]]) -> Each[float]:
    """An image in an array, and a small one beside it."""
    total = 0.0
    for i in range(1, 5):
        for j in range(1, 5):
            s = 0.0
            for a in range(3):
                for b in range(3):
                    s += w[a][b] * x[i + a - 1][j + b - 1]
            total += sa.tanh(s)
    return total


@sa.kernel
def recurrent(x: Each[V], y: Each[V]) -> Each[float]:
    """A filter: each element from the one before, and a state that is recomputed."""
    s = 0.1
    out = V()
    for i in range(N):
        s = sa.sin(s * y[i] + x[i])
        out[i] = s * s
    total = 1.0
    for i in range(N):
        total *= 1.0 + 0.1 * out[i]
    return total


@sa.differentiable
def softmax(s: V) -> V:
    top = s[0]
    for i in range(1, N):
        top = max(top, s[i])
    s = sa.copy(s)
    total = 0.0
    for i in range(N):
        s[i] = sa.exp(s[i] - top)
        total += s[i]
    for i in range(N):
        s[i] /= total
    return s


@sa.kernel
def soft(x: Each[V], y: Each[V]) -> Each[float]:
    p = softmax(x)
    total = 0.0
    for i in range(N):
        total -= y[i] * sa.log(p[i] + 0.01)
    return total


@sa.kernel
def shifted(x: Each[V], n: Each[int]) -> Each[float]:
    """Indices that depend on data, and arrays that are read beside their own place."""
    y = sa.copy(x)
    for i in range(1, N):
        y[i] = 0.5 * y[i] + 0.3 * sa.sin(y[i - 1])
    z = V()
    for i in range(N):
        z[N - 1 - i] += y[i] * x[(i * n) % N]
    total = 0.0
    for i in sa.range(min(n, N), max_iters=N):
        if z[i] > 0.3:
            continue
        total += z[i] * y[N - 1 - i]
    return total


@sa.kernel
def same_place(x: Each[V], w: Each[M], k: Each[int]) -> Each[float]:
    """Elements that all iterations share, at an index that a function computes."""
    total = 0.0
    for i in range(N):
        total += x[(k * 3 + 1) % N] * x[i]
    for _ in range(N):
        total += sa.sin(w[(k + 5) % ROWS][k])
    return total


@sa.kernel
def added_and_read(x: Each[V], y: Each[V]) -> Each[float]:
    """A sum that the inner loop reads, too."""
    total = 0.0
    s = 0.5
    for i in range(N):
        for j in range(ROWS):
            total += x[j] * 0.1
            s = sa.sin(s * y[i] + total)
    return total + s


@sa.kernel
def without_gradient(x: Each[V], y: Each[V], k: Each[int]) -> Each[float]:
    """Arrays and numbers without gradient in the state and beside it."""
    s = 0.5
    b = V()
    a = sa.copy(y)
    total = 0.0
    for i in range(N):
        b[i] = sa.tanh(b[(i + k) % N] + 0.3)
        a[k] *= 1.0 - 0.3 * sa.sin(x[i] * b[k])
        total += sa.dot(float3(s, 0.3, total), float3(x[i], 0.3, x[i + k] if i + k < N else 0.2)) * 0.1
    for i in range(N):
        total += a[i] * x[N - 1 - i] * b[i]
    return total


@sa.struct
class Grain:
    size: float
    kind: int
    age: sa.NoDiff[float]


@sa.kernel
def grains(grain: Each[Array[Grain, N]], x: Each[V], k: Each[int]) -> Each[float]:
    """Arrays of structs of which parts have no gradient."""
    g = sa.copy(grain)
    for i in range(1, N):
        g[(i + k) % N].size += 0.2 * sa.sin(x[i - 1])
    total = 0.0
    for i in range(N):
        total += g[i].size * sa.sin(x[i]) + g[i].age
    return total


@sa.kernel
def two_stored(x: Each[V], y: Each[V], n: Each[int]) -> Each[float]:
    """Two arrays of one type, whose elements a loop stores in branches."""
    a = V()
    b = sa.copy(y)
    total = 0.0
    for i in range(N):
        if i < 16:
            a[min(n + 4, 19)], a[i] = a[i], a[min(n + 4, 19)] * 0.9
            total += b[n] * x[i]
        a[(i + n) % N] *= 1.0 - 0.3 * sa.sin(y[n] * x[i])
        if i <= 1:
            a[N - 1 - i] += sa.tanh(b[n + 1])
    a[(n + 1) % N] += 0.2 * max(y[n] + 0.21, x[(n + 1) % N] if total > 0.667 else 0.5)
    for i in sa.range(n, 17, max_iters=17):
        if i == 9:
            b[(i + n) % N] = sa.tanh(y[i + 3])
            continue
        a[(i * 5 + 1) % N] = sa.tanh(x[min(n, 19)])
    for i in range(N):
        total += a[i] * sa.sin(i + 1.0) + b[i] * 0.1
    return total
