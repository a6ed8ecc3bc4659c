import math

import numpy as np

import slangad as sa
from slangad import Each, float2, float2x2, float3

COUNT = 3
SCALE = 0.5
FLAG = True
UP = float3(0.0, 1.0, 0.0)
TABLE = (1.0, 2, 4.5)
INTEGERS = (1, 2, 3)
NESTED = ((1.0, 2.0), (3.0, 4.0))
VECTORS = (float2(1.0), float2(2.0, 3.0))
WEIGHTS = np.linspace(0.0, 1.0, 5)
GRID = np.arange(6).reshape(2, 3)
ONE = np.float32(1.5)
WIDE = np.float64(0.25)
WHOLE = np.int64(7)
MATRIX = float2x2(1.0, 2.0, 3.0, 4.0)


@sa.struct
class Light:
    color: float3
    power: float
    table: sa.Array[float, 2]


SUN = Light(float3(1.0), 2.0, sa.Array[float, 2](0.5, 0.25))


@sa.differentiable
def f(x: float, i: int) -> float:
    s = x * SCALE * COUNT
    if FLAG:
        s += UP.y
    s += TABLE[i] + TABLE[0] + INTEGERS[i]
    s += NESTED[i][1] + NESTED[1][i]
    s += VECTORS[i].x
    s += WEIGHTS[i] + GRID[i, 2] + GRID[1][i]
    s += ONE + WIDE + WHOLE
    s += math.pi * math.tau
    for w in WEIGHTS:
        s += w
    s += MATRIX[0, 1] * SUN.power * SUN.color.y + SUN.table[i] + (MATRIX @ float2(x)).x
    return s + len(TABLE)


@sa.kernel
def k(x: Each[float]) -> Each[float]:
    return f(x, 1)
