"""Functions as people write them on their first day: no declared ranges. Names that begin with "wrong" are wrong."""

import slangad as sa
from slangad import float2, float3, float4


@sa.differentiable
def unit_vector(v: float3) -> float3:
    return v / sa.length(v)


@sa.differentiable
def unit_builtin(v: float3) -> float3:
    return sa.normalize(v)


@sa.differentiable
def inverse_length(v: float3) -> float:
    return 1.0 / sa.sqrt(sa.dot(v, v))


@sa.differentiable
def square_root(x: float) -> float:
    return sa.sqrt(x)


@sa.differentiable
def power(x: float, y: float) -> float:
    return sa.pow(x, y)


@sa.differentiable
def entropy(p: float) -> float:
    return -p * sa.log(p) - (1.0 - p) * sa.log(1.0 - p)


@sa.differentiable
def ratio(a: float, b: float) -> float:
    return a / b


@sa.differentiable
def polar(x: float, y: float) -> float2:
    return float2(sa.length(float2(x, y)), sa.atan2(y, x))


@sa.differentiable
def angle_between(a: float3, b: float3) -> float:
    return sa.acos(sa.dot(a, b) / (sa.length(a) * sa.length(b)))


@sa.differentiable
def ramp(low: float, high: float, x: float) -> float:
    return sa.smoothstep(low, high, x)


@sa.differentiable
def box_distance(p: float3, size: float3) -> float:
    q = abs(p) - size
    outside = float3(max(q.x, 0.0), max(q.y, 0.0), max(q.z, 0.0))
    return sa.length(outside) + min(max(q.x, q.y, q.z), 0.0)


@sa.differentiable
def torus_distance(p: float3, major: float, minor: float) -> float:
    q = float2(sa.length(float2(p.x, p.z)) - major, p.y)
    return sa.length(q) - minor


@sa.differentiable
def soft_minimum(a: float, b: float, k: float) -> float:
    return -sa.log(sa.exp(-k * a) + sa.exp(-k * b)) / k


@sa.differentiable
def filmic(x: float) -> float:
    return x * (6.2 * x + 0.5) / (x * (6.2 * x + 1.7) + 0.06)


@sa.differentiable
def lambert(normal: float3, light: float3) -> float:
    return max(sa.dot(sa.normalize(normal), sa.normalize(light)), 0.0)


@sa.differentiable
def phong(normal: float3, half_vector: float3, shininess: float) -> float:
    return sa.pow(sa.saturate(sa.dot(normal, half_vector)), shininess)


@sa.differentiable
def snell(cos_i: float, eta: float) -> float:
    sin2 = (1.0 - cos_i * cos_i) / (eta * eta)
    return sa.sqrt(1.0 - sin2)


@sa.differentiable
def softmax(x: float4) -> float4:
    top = max(x.x, x.y, x.z, x.w)
    e = sa.exp(x - top)
    return e / (e.x + e.y + e.z + e.w)


@sa.differentiable
def layer_norm(x: float4) -> float4:
    mean = (x.x + x.y + x.z + x.w) / 4.0
    centered = x - mean
    return centered / sa.sqrt(sa.dot(centered, centered) / 4.0)


@sa.differentiable
def relu_layer(w: float4, x: float4, b: float) -> float:
    return max(sa.dot(w, x) + b, 0.0)


@sa.differentiable
def cross_entropy(p: float, target: float) -> float:
    return -(target * sa.log(p) + (1.0 - target) * sa.log(1.0 - p))


@sa.differentiable
def quaternion_angle(q: float4) -> float:
    return 2.0 * sa.acos(q.w / sa.length(q))


@sa.differentiable
def sphere_hit(origin: float3, direction: float3, radius: float) -> float:
    b = sa.dot(origin, direction)
    c = sa.dot(origin, origin) - radius * radius
    a = sa.dot(direction, direction)
    return (-b - sa.sqrt(b * b - a * c)) / a


@sa.differentiable
def beer_lambert(density: float, length: float) -> float:
    return (1.0 - sa.exp(-density * length)) / density


@sa.differentiable
def wrong_sigmoid(x: float) -> float:
    return 1.0 / (1.0 + sa.exp(-x))


@wrong_sigmoid.backward
def wrong_sigmoid_backward(x, d_out):
    s = 1.0 / (1.0 + sa.exp(-x))
    return d_out * s * (1.0 + s)


@sa.differentiable
def wrong_length(x: float, y: float) -> float:
    return sa.sqrt(x * x + y * y)


@wrong_length.backward
def wrong_length_backward(x, y, d_out):
    h = sa.sqrt(x * x + y * y)
    return d_out * x / h, d_out * x / h
