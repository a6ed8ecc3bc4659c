import slangad as sa
from slangad import Array, float2x2, float3


@sa.struct
class Inner:
    values: Array[float, 2]
    v: float3
    n: int


@sa.struct
class Outer:
    inner: Inner
    list: Array[Inner, 2]


@sa.differentiable
def g(o: Outer) -> float:
    return o.inner.v.x + o.list[1].values[0]


@sa.differentiable
def f(x: float) -> float:
    a = sa.zeros(Inner)
    b = sa.zeros(Outer)
    c = Array[Inner, 2]()
    d = Array[Outer, 2]()
    e = sa.zeros(Array[Array[float, 2], 3])
    m = sa.zeros(float2x2)
    v = sa.zeros(float3)
    s = sa.zeros(float) + sa.zeros(int)
    a.v.x = x
    b.inner = a
    c[1].n = 2
    c[0].v = v
    d[0] = b
    d[1].list[0].values[1] = x
    e[2][1] = x
    h = Outer(sa.zeros(Inner), Array[Inner, 2]())
    s += g(sa.zeros(Outer)) + g(d[0]) + g(h) + sa.zeros(Inner).v.x + Array[float, 3]()[1]
    return s + a.v.x + d[1].list[0].values[1] + c[1].n + e[2][1] + m[0, 0] + v.y
