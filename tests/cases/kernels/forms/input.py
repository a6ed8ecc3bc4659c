import slangad as sa
from slangad import Array, Each, NoDiff, Uniform, float2, float2x2, float3, half2, int3


@sa.struct
class Material:
    albedo: float3
    roughness: float
    kind: int
    table: Array[float2, 2]
    bias: NoDiff[float]


@sa.kernel
def plain(x: Each[float]) -> Each[float]:
    return x * x


@sa.kernel(dims=2, group_size=(4, 8))
def grid(x: Each[float3], m: Each[Material], gain: Uniform[float], world: Uniform[float2x2]) -> Each[float3]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    n = sa.thread_count(0) * sa.thread_count(1)
    uv = world @ float2(i, j)
    return x * m.albedo * gain * uv.x / n + m.table[1].x


@sa.kernel(dims=3)
def volume(x: Each[float], k: NoDiff[Each[float]], also: Each[NoDiff[float]], n: Each[int]) -> Each[float]:
    return x * k * also * n * sa.thread_id(2)


@sa.kernel
def types(
    a: Each[sa.half], b: Each[sa.double], c: Each[sa.uint], d: Each[bool], e: Each[int3], f: Each[half2],
    m: Each[float2x2], t: Each[Array[int, 3]],
) -> tuple[Each[float], Each[int], Each[bool], Each[Material]]:
    x = float(a) + float(b) + float(f.x) + m[0, 1]
    return x, int(c) + e.y + t[2], d, Material(float3(x), x, 1, Array[float2, 2](), 0.0)


@sa.kernel
def nothing_to_differentiate(n: Each[int], x: NoDiff[Each[float]]) -> Each[float]:
    return n * x


@sa.kernel
def integers(n: Each[int]) -> Each[int]:
    return n * 2


@sa.kernel
def without_inputs(scale: Uniform[float]) -> Each[float]:
    return sa.thread_id() * scale


@sa.kernel
def early(x: Each[float]) -> tuple[Each[float], Each[int]]:
    if x < 0.0:
        return 0.0, 1
    return x, 0
