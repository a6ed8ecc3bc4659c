"""Constant tables of tables: entries, rows, and the whole."""

import slangad as sa
from slangad import Array, Each, Uniform, float3

PARTS = ((0, 2, 1), (3, 5, 4))
WEIGHTS = ((0.5, 1.5), (2.5, 3.5))
MANY = (((1, 2), (3, 4)), ((5, 6), (7, 8)))
AXES = ((float3(1.0, 2.0, 3.0), float3(4.0, 5.0, 6.0)), (float3(7.0, 8.0, 9.0), float3(1.0, 1.0, 1.0)))


@sa.differentiable
def weighted(row: Array[float, 2], x: float) -> float:
    return row[0] * x + row[1] * x * x


@sa.differentiable
def bent(table: Array[Array[float, 2], 2], x: float) -> float:
    return table[0][1] * x * table[1][0]


@sa.kernel
def entries(x: Each[float], n: Uniform[int]) -> Each[float]:
    k = PARTS[n % 2][(n + 1) % 3]
    y = x * float(k) * WEIGHTS[k % 2][sa.uint(n % 2)] * float(MANY[n % 2][k % 2][0])
    return y + AXES[n % 2][1].y * AXES[n % 2][0][n % 3]


@sa.kernel
def rows(x: Each[float], n: Uniform[int]) -> Each[float]:
    row = WEIGHTS[n % 2]
    inner = MANY[n % 2]
    y = weighted(WEIGHTS[1], x) + weighted(row, x) + bent(WEIGHTS, x)
    for each in WEIGHTS:
        y += each[0] * x
    return y + float(inner[1][0])


@sa.differentiable
def steep(x: float, n: int) -> float:
    row = WEIGHTS[n % 2]
    return row[0] * x * x


@steep.backward
def steep_backward(x: float, n: int, d_out: float) -> float:
    WEIGHTS_row = WEIGHTS[n % 2]
    return 2.0 * WEIGHTS_row[0] * x * d_out


@sa.kernel
def custom(x: Each[float], n: Uniform[int]) -> Each[float]:
    return steep(x, n)
