"""Kernels with every memory that threads share."""

import slangad as sa
from slangad import (
    Array,
    Each,
    InOutTensor,
    Mean,
    NoDiff,
    OutTensor,
    Param,
    Sum,
    Tensor,
    Texture2D,
    float2,
    float3,
    float4,
)


@sa.struct
class Line:
    slope: float
    bias: float3


@sa.kernel
def sums(x: NoDiff[Each[float]], p: Param[Line]) -> tuple[Sum[float], Mean[float3]]:
    return p.slope * x * x, p.bias * x


@sa.kernel(dims=2)
def plane(x: Each[float], p: Param[float]) -> Sum[float]:
    return p * x * float(sa.thread_id(0) + 2 * sa.thread_id(1))


@sa.kernel
def collide(i: Each[int], g: NoDiff[Each[float]], w: Tensor[float3, 1]) -> Sum[float]:
    v = w[i]
    return g * (v.x + 2.0 * v.y * v.z)


@sa.kernel
def gather(i: Each[int], w: Tensor[float, 1]) -> Each[float]:
    return w[i]


@sa.kernel
def own(w: Tensor[float, 1], out: OutTensor[float, 1]):
    i = sa.thread_id(0)
    out[i] = w[i] * w[i]


@sa.kernel
def neighbours(w: Tensor[float, 1], out: OutTensor[float, 1]):
    i = sa.thread_id(0)
    out[i] = w[i] * w[min(i + 1, sa.thread_count(0) - 1)]


@sa.kernel
def in_place(v: InOutTensor[float, 1], g: Each[float]):
    i = sa.thread_id(0)
    v[i] = v[i] * v[i] * g


@sa.kernel
def sample(uv: Each[float2], t: Texture2D[float3, "repeat"], u: Texture2D[float4, "mirror"]) -> Each[float]:  # noqa: F821  (no names)
    c = t.sample(uv)
    return c.x + 2.0 * c.y * c.z + u.sample(uv).w


@sa.kernel
def edge(uv: Each[float2], t: Texture2D[float]) -> Each[float]:
    return t.sample(uv)


@sa.kernel
def probed(x: Each[float]) -> Each[float]:
    y = sa.probe("y", x * x)
    return y * y


@sa.kernel
def probed_entry(x: Each[Array[float, 4]], k: Each[int]) -> Each[float]:
    """Both the probe and the entry at a run-time index use slangad's library in Slang."""
    places = Array[int, 4](3, 2, 1, 0)
    y = sa.copy(x)
    j = k % 4
    if j > 0:
        places[j] = 0
        y[j] = 2.0 * x[places[j]]
    z = sa.probe("z", y[places[j]] + y[j])
    return z * z
