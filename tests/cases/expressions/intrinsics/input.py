import math

import slangad as sa
from slangad import float3


@sa.differentiable
def f(x: float, v: float3, n: int, b: bool) -> float:
    s = sa.sin(x) + math.cos(x) + sa.tan(x) + sa.asin(x) + sa.acos(x) + sa.atan(x) + sa.atan2(x, 2)
    s += sa.sinh(x) + sa.cosh(x) + sa.tanh(x) + sa.exp(x) + sa.exp2(x) + sa.log(x) + sa.log2(x) + sa.log10(x)
    s += sa.sqrt(x) + sa.rsqrt(x) + sa.rcp(x) + sa.floor(x) + sa.ceil(x) + sa.round(x) + sa.trunc(x) + sa.frac(x)
    s += sa.sign(x) + abs(x) + sa.saturate(x) + sa.clamp(x, 0, 1) + sa.step(0.5, x) + sa.smoothstep(0.0, 1.0, x)
    s += sa.lerp(x, 2, 0.5) + sa.fmod(x, 2) + min(x, 1, n) + max(x, 0.5, x * x, n) + pow(x, 2) + sa.mod(x, 2)
    s += sa.dot(v, v) + sa.length(v) + sa.distance(v, v + 1) + sa.cross(v, v).x + sa.normalize(v).y
    s += sa.reflect(v, v).x + sa.refract(v, v, 0.5).y + sum(v) + sa.sin(v).z + sa.max(v, 0.5).x
    s += sa.sin(1) + sa.max(n, 2) + sa.degrees(x) + sa.radians(x) + sa.select(b, x, 1.0) + sa.select(v > 0.0, v, 0.0).x
    s += 1.0 if sa.isnan(x) or sa.isinf(x) or not sa.isfinite(x) else 0.0
    return s + round(x) + math.floor(x) + math.ceil(x) + math.trunc(x)
