"""A description that uses most of the language; the tests run it in Python and on the CPU."""

from __future__ import annotations

import math

import slangad as sa
from slangad import Array, float2, float2x3, float3, float3x3

EPSILON = 1e-3
WEIGHTS = (0.25, 0.5, 2)


@sa.struct
class Material:
    albedo: float3
    roughness: float = 0.5
    layers: sa.NoDiff[int] = 2

    def scaled(self, k: float) -> Material:
        return Material(self.albedo * k, self.roughness, self.layers)

    @staticmethod
    def weight(x: float) -> float:
        return x * x + 1.0


@sa.differentiable
def arithmetic(x: float, y: float) -> tuple[float, float, float, float]:
    return x % y + x // y, x**3 - y**-2, abs(x) * max(x, y, 0.25), (x + 0.5) / (y * y + EPSILON)


@sa.differentiable
def integers(i: int, j: int) -> tuple[int, int, float, int]:
    k = j * j + 1
    return i // k + i % k, (i & j) ^ (i << 2), i / k, abs(i) * sa.sign(j)


@sa.differentiable
def branches(x: float, n: int) -> float:
    total = 0
    for i in range(5):
        if i == n:
            continue
        if total > 4.0:
            break
        total = total + x * i
    else:
        total += 0.5
    if total < 0.0:
        return -total
    if x > 0.5:
        total = total * total
    return total + (1 if n > 2 else x)


@sa.differentiable
def loops(x: float, n: int) -> float:
    s = x
    for i in sa.range(n, max_iters=4):
        for j in sa.range(i, 3, max_iters=3):
            s = s * 0.9 + math.sin(x * (j + 1))
    while sa.max_iters(6) and s > 1.0 and s < 50.0:
        s = s / 2.0 + 0.1 * x
    return s


@sa.differentiable
def vectors(v: float3, w: float3, s: float) -> float3:
    u = v * s + w / 2.0
    u.xz = u.zx + float2(s, 1.0)
    u[1] *= sa.dot(v, w)
    u += sa.cross(v, w) * sa.length(v - w)
    return sa.lerp(u, sa.normalize(w), s) + sa.reflect(v, w).yxz


@sa.differentiable
def matrices(m: float2x3, v: float3, w: float2) -> float3:
    n = float3x3(v, v.zxy, v.yzx * 2.0)
    a = m @ v
    b = sa.mul(w, m)
    t = sa.transpose(m) @ a
    n[1] = n[1] + b
    n[0, 2] = sa.determinant(n)
    return n @ t + sa.mul(b, n) * m[1, 2]


@sa.differentiable
def arrays(a: Array[float, 4], i: int, j: int) -> float:
    b = sa.copy(a)
    b[i] = b[i] * b[j] + a[j]
    total = 0.0
    for k, x in enumerate(b):
        total += x * (k + 1)
    for k in range(3):
        total = total * WEIGHTS[k] + b[k] * b[k + 1]
    return total


@sa.differentiable
def structs(m: Material, light: float3, k: sa.NoDiff[float]) -> float:
    n = m.scaled(k)
    n.albedo.y = n.albedo.y * m.roughness + n.layers
    both = Array[Material, 2](n, m)
    total = 0.0
    for i in range(2):
        total += sa.dot(both[i].albedo, light) * Material.weight(both[i].roughness)
    return total


@sa.differentiable
def transcendental(x: float, y: float) -> tuple[float, float, float]:
    p = x * x + 0.1
    return (
        math.sqrt(p) * sa.exp(-x) + p**0.5 + p**y,
        sa.atan2(y, p) + sa.asin(sa.clamp(x, -0.9, 0.9)) + sa.tanh(x) + sa.log2(p),
        sa.smoothstep(-1.0, 1.0, x) + sa.saturate(y) + sa.frac(x) + sa.floor(y) + sa.fmod(x, p),
    )


@sa.differentiable
def cube(x: float, k: sa.NoDiff[float]) -> float:
    return x * x * x * k


@cube.backward
def cube_bwd(x, k, d_out):
    return 4.0 * x * x * k * d_out


@sa.differentiable
def soft(x: float) -> float:
    return 1.0 / (1.0 + sa.exp(-4.0 * x))


@sa.differentiable(derivative=sa.surrogate(soft))
def hard(x: float) -> float:
    return 1.0 if x > 0.0 else 0.0


@sa.differentiable(derivative=sa.clip_gradient(2.0))
def steep(v: float2) -> float:
    return 10.0 * v.x + v.y * v.y


@sa.differentiable(derivative=sa.straight_through())
def quantized(x: float) -> float:
    return sa.round(x * 4.0) / 4.0


@sa.differentiable(derivative=sa.finite_difference(step=0.25))
def measured(x: float, y: float) -> float:
    return x * x * x + x * y * y


@sa.differentiable
def own_derivatives(x: float, y: float) -> float:
    return cube(x + y, 2.0) * hard(y) + steep(float2(x, y) * 0.3) + quantized(x) * y + measured(x, y)


@sa.differentiable
def slope(x: float) -> float:
    return sa.fwd_diff(soft)(sa.diff_pair(x * x, 1.0)).d + sa.no_diff(x) * x


@sa.function
def gradients(x: float, y: float) -> tuple[float, float]:
    dx, dy = sa.bwd_diff(measured)(x, y, 1.0)
    return dx + sa.bwd_diff(soft)(x, 2.0), dy
