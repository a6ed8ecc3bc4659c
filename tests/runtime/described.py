"""Kernels with every kind of value, and every way to get them wrong."""

import slangad as sa
from slangad import Each, NoDiff, Uniform, float2, float2x3, float3


@sa.struct
class Inner:
    uv: float2
    in_: int
    active: bool


@sa.struct
class Pair:
    left: float3
    weight: float


@sa.struct
class Scene:
    pairs: sa.Array[Pair, 2]
    gain: float


@sa.kernel
def square(x: Each[float], a: Uniform[float]) -> Each[float]:
    return a * x * x


@sa.kernel
def kinds(
    x: Each[float3],
    m: Each[float2x3],
    h: Each[sa.half],
    d: NoDiff[Each[sa.double]],
    i: Each[int],
    u: Each[sa.uint],
    on: Each[bool],
    inner: Uniform[Inner],
    scene: Uniform[Scene],
    table: Uniform[sa.Array[float, 3]],
) -> tuple[Each[float], Each[bool], Each[Inner]]:
    total = x.x + 2.0 * x.y + m[1, 2] + float(h) + float(i) + float(u) + table[2] + float(d)
    total += inner.uv.y + float(inner.in_) + scene.pairs[1].left.z * scene.gain + scene.pairs[0].weight
    return total if on else -total, on and inner.active, Inner(uv=inner.uv, in_=i, active=not on)


@sa.kernel(dims=2)
def plane(x: Each[float], y: NoDiff[Each[float2]]) -> Each[float]:
    return x * x * y.x + y.y + float(sa.thread_id(0) * 10 + sa.thread_id(1))


@sa.kernel
def indices() -> Each[int]:
    return sa.thread_id(0) * 3


@sa.kernel
def two(x: Each[float], y: Each[float]) -> tuple[Each[float], Each[float2]]:
    return x * y, float2(x * x, sa.sin(y))


@sa.kernel
def forever(x: NoDiff[Each[float]]) -> Each[float]:
    y = x
    n = 0
    while sa.max_iters(2000000000) and n < 2000000000:
        y = y * 0.999 + 0.5
        n += 1
    return y
