"""Policies whose derivative is that of the function itself where these kernels are sampled."""

import slangad as sa
from slangad import Each, NoDiff, float2, float2x2, float3


@sa.struct
class Surface:
    albedo: float3
    rough: float
    layers: sa.Array[float2, 2]
    kind: int
    scale: NoDiff[float]

    @sa.differentiable
    def lit(self, x: float) -> float:
        return self.rough * x * x


@Surface.lit.backward
def lit_bwd(self, x, d_out):
    return Surface(float3(0.0), x * x * d_out, sa.zeros(sa.Array[float2, 2]), 0, 0.0), 2.0 * x * self.rough * d_out


@sa.differentiable(derivative=sa.finite_difference(step=1e-2))
def differenced(s: Surface, v: float3, k: int, w: NoDiff[float]) -> float3:
    return (s.albedo * v * s.layers[1].y + s.layers[0].x * s.rough) * (k * w * s.scale)


@sa.differentiable(derivative=sa.finite_difference(step=1e-2, relative=True))
def relative(x: float, m: float2x2) -> Surface:
    return Surface(float3(x), m[0, 1] * x, sa.Array[float2, 2](m[0], m[1]), 1, x)


@sa.differentiable(derivative=sa.clip_gradient(1e6))
def wide(v: float3, s: float) -> float:
    return sa.dot(v, v) * s


@sa.differentiable(derivative=sa.clip_gradient(norm=1e6))
def wide_norm(s: Surface) -> float2:
    return s.layers[0] * s.rough + s.layers[1] * s.albedo.z


@sa.differentiable
def own(x: float, v: float3, n: int) -> float3:
    return v * (x * n)


@own.backward
def own_bwd(x, v, n, d_out):
    return sa.dot(v, d_out) * n, d_out * (x * n)


@sa.differentiable
def pushed(s: Surface, v: float3) -> float3:
    return s.albedo * v * s.rough


@pushed.forward
def pushed_fwd(s, v):
    value = s.p.albedo * v.p * s.p.rough
    tangent = s.d.albedo * v.p * s.p.rough + s.p.albedo * v.d * s.p.rough + s.p.albedo * v.p * s.d.rough
    return value, tangent


@sa.differentiable
def both(x: float, s: Surface) -> tuple[float, float3]:
    return x * s.rough, s.albedo * x


@both.backward
def both_bwd(x, s, d_out):
    a, v = d_out
    zero = sa.zeros(sa.Array[float2, 2])
    return a * s.rough + sa.dot(v, s.albedo), Surface(v * x, a * x, zero, 0, 0.0)


@sa.kernel
def finite(s: Each[Surface], v: Each[float3], k: Each[int]) -> Each[float3]:
    return differenced(s, v, k, 2.0)


@sa.kernel
def finite_relative(x: Each[float], m: Each[float2x2]) -> Each[float]:
    s = relative(x, m)
    return s.albedo.x * s.rough + s.layers[0].y * s.layers[1].x


@sa.kernel
def clipped(v: Each[float3], s: Each[float], t: Each[Surface]) -> Each[float]:
    return wide(v, s) + sa.dot(wide_norm(t), float2(1.0, 2.0))


@sa.kernel
def backward_only(x: Each[float], v: Each[float3], n: Each[int]) -> Each[float3]:
    return own(x * x, v, n) + v


@sa.kernel
def forward_only(s: Each[Surface], v: Each[float3]) -> Each[float3]:
    return pushed(s, v) * 2.0


@sa.kernel
def tuple_result(x: Each[float], s: Each[Surface]) -> Each[float]:
    a, v = both(x, s)
    return a * v.x + v.z


@sa.kernel
def method(s: Each[Surface], x: Each[float]) -> Each[float]:
    return s.lit(x) * x
