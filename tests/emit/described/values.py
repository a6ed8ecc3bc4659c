"""Structs, methods, tuples, arrays as values, branches, casts, ends of gradients."""

import slangad as sa
from slangad import Each, NoDiff, Uniform, float2, float3, float4

LOWEST = 0.25


@sa.struct
class Lobe:
    color: float3
    sharpness: float
    kind: int
    scale: NoDiff[float]

    @sa.differentiable
    def at(self, x: float) -> float:
        """Its value."""
        return self.sharpness * x * x + self.color.y * self.scale

    def twice(self, x: float) -> float3:
        return self.color * (2.0 * self.at(x))

    @staticmethod
    def flat(x: float) -> float:
        return x * 0.25


@sa.struct
class Mix:
    lobes: sa.Array[Lobe, 2]
    weight: float2


@sa.differentiable
def split(x: float, v: float3) -> tuple[float, int, float3]:
    return x * x, int(x), v * x


@sa.function
def table(x: float) -> float:
    return x * 100.0


@sa.differentiable
def blend(m: Mix, x: float) -> Lobe:
    a = m.lobes[0]
    b = m.lobes[1]
    return Lobe(a.color * m.weight.x + b.color * m.weight.y, a.sharpness * b.sharpness, a.kind, a.scale)


@sa.kernel
def methods(lobe: Each[Lobe], x: Each[float]) -> Each[float3]:
    return lobe.twice(x) + lobe.color * Lobe.flat(x)


@sa.kernel
def nested_structs(m: Each[Mix], x: Each[float]) -> Each[float]:
    lobe = blend(m, x)
    return lobe.at(x) + lobe.kind


@sa.kernel
def struct_result(m: Each[Mix], x: Each[float]) -> Each[Lobe]:
    return blend(m, x)


@sa.kernel
def tuples(x: Each[float], v: Each[float3]) -> tuple[Each[float], Each[float3]]:
    a, k, u = split(x, v)
    return a * (k + 3.0), u * a


@sa.kernel
def mixed_results(x: Each[float], k: Each[int]) -> tuple[Each[float], Each[int], Each[float]]:
    return x * k, k + 1, x * x


@sa.kernel
def ends(x: Each[float], y: Each[NoDiff[float]]) -> Each[float]:
    a = sa.no_diff(table(x) * 0.0) + table(y) + table(2.0)
    return x * y + a + sa.no_diff(y * table(y))


@sa.kernel
def branches(x: Each[float], y: Each[float]) -> Each[float]:
    if x > 1.0:
        r = x * y
    elif x > 0.0:
        r = x + y
        if y > 0.0:
            r = r * r
    else:
        r = -x
    return r


@sa.kernel
def returns(x: Each[float], y: Each[float]) -> Each[float]:
    if x > 1.0:
        return x * y
    if (y > 0.0 and x > 0.0) or x < -1.0:
        return y * y
    return x + y


@sa.kernel
def swizzles(v: Each[float4], s: Uniform[float3]) -> Each[float4]:
    u = v * 2.0
    u.xy = v.zw * s.x
    u.z += v.x * s.y
    w = float4(u.yx, float2(s.z))
    w.w = w.x * v.w
    return w.wzyx


@sa.kernel
def arrays(x: Each[sa.Array[float3, 2]], k: Each[int]) -> Each[sa.Array[float, 3]]:
    a = sa.Array[float, 3](x[0].x * x[1].y, sa.dot(x[0], x[1]), x[k % 2].z)
    a[1] = a[0] * a[1]
    return a


@sa.kernel
def unary(x: Each[float], b: Each[bool]) -> Each[float]:
    a = -x - -2.0
    return a * -x if not b else -(x - -a) / (x / (x * 2.0))


@sa.kernel(dims=2, group_size=(4, 8))
def grid(x: Each[float], y: Each[float]) -> Each[float]:
    return x * y * (sa.thread_id(0) + 10 * sa.thread_id(1) + 100 * sa.thread_count(1))


@sa.kernel
def numbered(x: Each[float]) -> Each[float]:
    return x * x * sa.thread_id(0) / sa.thread_count(0)


@sa.kernel
def outside_the_domain(x: Each[float]) -> Each[float]:
    return sa.acos(sa.clamp(x, -1.0, 1.0)) + sa.sqrt(max(x, 0.0)) + x


@sa.kernel
def no_gradient_beside_literals(x: NoDiff[Each[float]], w: Each[float3]) -> Each[float]:
    rows = sa.float2x2(float2(x, 1.0), float2(LOWEST, x))
    return sa.dot(w, float3(x, x, 1.0)) + sa.dot(float3(x, 2.0, LOWEST), w) * (rows @ w.xy).y
