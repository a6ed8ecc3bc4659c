"""Stores through one run-time index twice: reverse mode of them as they stand compiles for no target."""

import slangad as sa
from slangad import Array, Each, NoDiff, float2, float2x2, float3, float3x3, uint

Line = Array[float, 2]
Square = Array[Line, 2]


@sa.struct
class Row:
    values: Array[float, 3]
    hits: Array[int, 3]
    scale: float


@sa.kernel
def square_diagonal(a: Each[float2x2]) -> Each[float2x2]:
    m = sa.copy(a)
    for i in range(2):
        m[i, i] = m[i, i] * m[i, i]
    return m


@sa.kernel
def damped(a: Each[float3x3], lam: Each[float]) -> Each[float3x3]:
    m = sa.copy(a)
    for i in range(3):
        m[i, i] += lam * m[i, i]
    return m


@sa.kernel
def scaled_diagonal(a: Each[Array[float3, 3]], s: Each[float3]) -> Each[Array[float3, 3]]:
    m = sa.copy(a)
    for i in range(3):
        m[i][i] *= s[i]
    return m


@sa.kernel
def cholesky(a: Each[Array[Array[float, 3], 3]]) -> Each[Array[Array[float, 3], 3]]:
    low = Array[Array[float, 3], 3]()
    for i in range(3):
        for j in sa.range(i + 1, max_iters=3):
            s = a[i][j] + a[j][i]
            for k in sa.range(j, max_iters=3):
                s -= low[i][k] * low[j][k]
            if i == j:
                low[i][i] = sa.sqrt(s * s + 4.0)
            else:
                low[i][j] = s / low[j][j]
    return low


@sa.kernel
def filled(d: Each[float3], x: Each[float]) -> Each[float3x3]:
    m = float3x3(x * x)
    for i in range(3):
        m[i][i] = d[i]
    return m @ m


@sa.kernel
def three_levels(x: Each[float], y: Each[float]) -> Each[float]:
    a = Array[Square, 2](Square(Line(x, y), Line(y, x * y)), Square(Line(x, x), Line(x * x, y)))
    for i in range(2):
        for j in range(2):
            a[i][j][j] = a[i][j][j] * x + y
            a[j][i][j] = a[j][i][j] * y
            a[i][i][j] *= a[j][j][i] + x
        a[i][i][i] *= y
    return a[0][0][0] + 2.0 * a[0][0][1] + 3.0 * a[0][1][1] + a[1][0][1] * a[1][1][1] + a[1][1][0]


@sa.kernel
def of_vectors(a: Each[Array[Array[float2, 2], 2]]) -> Each[float2]:
    m = sa.copy(a)
    for i in range(2):
        m[i][i].x = m[i][i].y * m[i][1 - i].x
        m[i][i].yx = m[i][i]
    return m[0][0] * m[1][1] + m[0][1] * m[1][0]


@sa.kernel
def in_structs(x: Each[float3], k: NoDiff[Each[uint]]) -> Each[float]:
    none = Array[int, 3](0, 0, 0)
    first = Row(Array[float, 3](x.x, x.y, x.z), none, x.y)
    second = Row(Array[float, 3](x.y, x.y, x.z), none, x.z)
    rows = Array[Row, 3](first, second, first)
    for i in range(3):
        rows[i].values[i] *= x[i] * rows[i].scale
        rows[i].hits[i] = i + 1
    rows[k].values[k] += x.x * float(rows[k].hits[k])
    return rows[0].values[0] + rows[1].values[1] * rows[2].values[2]


@sa.kernel
def by_another_name(a: Each[float2x2], x: Each[float], n: NoDiff[Each[int]]) -> Each[float2x2]:
    m = sa.copy(a)
    j = n % 2
    m[j, j] = m[j, j] * x
    m[n % 2, n % 2] += x * m[0, 1]
    for i in range(2):
        same = i + 0
        either = i
        if x > 0.0:
            either = i
        m[i, same] = m[i, same] * x + m[1 - i, i]
        if m[0, 0] > 0.1:
            m[either, i] *= x
    return m


@sa.kernel
def twice(a: Each[float2x2], b: Each[float2x2]) -> Each[float2x2]:
    m, n = sa.copy(a), sa.copy(b)
    for i in range(2):
        m[i, i] = n[i, i] * m[0, 1]
        n[i, i] = m[i, i] + n[1, 0] * m[1, i]
    return m @ n


@sa.kernel
def until(a: Each[float2x2], x: Each[float]) -> Each[float2x2]:
    m = sa.copy(a)
    i = 0
    while sa.max_iters(2) and i < 2:
        m[i, i] *= x
        i += 1
    return m
