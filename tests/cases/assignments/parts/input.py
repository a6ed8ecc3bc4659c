import slangad as sa
from slangad import Array, float2x2, float3


@sa.struct
class Inner:
    values: Array[float, 2]
    v: float3


@sa.struct
class Outer:
    inner: Inner
    list: Array[Inner, 2]


@sa.differentiable
def nested(x: float, i: int) -> float:
    o = sa.zeros(Outer)
    o.inner.v.x = x
    o.inner.v.yz += 1.0
    o.inner.values[1] = x * 2.0
    o.list[i].v.z = x
    o.list[-1].values[i] += x
    o.list[0].v[1] -= x
    return o.inner.v.x + o.list[1].values[1] + o.inner.v.z + o.list[0].v.y


@sa.differentiable
def matrix(x: float, i: int) -> float:
    m = float2x2(x)
    m[0, 1] = 2.0 * x
    m[1].x = 3.0 * x
    m[i, 0] += x
    m[1] = m[0] * 2.0
    m[-1, -1] *= x
    return m[0, 1] + m[1, 0] * m[i][i]


@sa.differentiable
def vector(x: float, i: int) -> float:
    v = float3(x, 1.0, 2.0)
    v[i] = x
    v[-1] += x
    v.xz = v.zx
    v.rg *= 2.0
    v.zyx = v
    return v.x + v.y * v.z
