import slangad as sa
from slangad import Array, float2x2, float3

TABLE = (1.0, 2.0, 3.0)


@sa.differentiable
def two(x: float) -> tuple[float, float]:
    return x, x


@sa.differentiable
def f(x: float, v: float3, a: Array[float, 2], m: float2x2, u: sa.uint, b: bool, i: int) -> float:
    s = v[3] + v[-4] + a[2] + m[2].x + m[0, 2] + m[-3, 0] + TABLE[3] + two(x)[2]
    t = v[x] + v[0.5] + v[b] + two(x)[i] + x[0]
    return v[u] + a[i] + TABLE[-1] + v[True]
