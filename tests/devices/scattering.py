"""Kernels that send gradients back to the same places from many threads, by every kind of index and element."""

import slangad as sa
from slangad import Array, Each, InOutTensor, Mean, NoDiff, OutTensor, Sum, Tensor, Texture2D, float2, float3, float4

EVERYWHERE = 3


@sa.kernel
def gather(at: Each[int], g: NoDiff[Each[float]], w: Tensor[float, 1]) -> Each[float]:
    return g * w[at]


@sa.kernel
def vectors(at: Each[int], g: NoDiff[Each[float]], w: Tensor[float3, 1]) -> Sum[float]:
    v = w[at]
    return g * (v.x + 2.0 * v.y * v.z)


@sa.kernel
def shared(x: Each[float], w: Tensor[float, 1], m: Tensor[float4, 1]) -> Mean[float]:
    y = 0.0
    for k in range(EVERYWHERE):
        y += x * w[k] * w[k] * m[k].w
    return y


@sa.kernel(dims=2)
def neighbours(w: Tensor[float, 2]) -> Each[float]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    return w[i, j] * w[min(i + 1, sa.thread_count(0) - 1), j] + w[i, max(j - 1, 0)]


@sa.kernel
def own(w: Tensor[float, 1], out: OutTensor[float, 1]):
    i = sa.thread_id(0)
    out[i] = w[i] * w[i]


@sa.kernel
def in_place(v: InOutTensor[float, 1], at: Each[int], w: Tensor[float, 1]):
    i = sa.thread_id(0)
    v[i] = v[i] * v[i] * w[at]


@sa.kernel
def elements(
    at: Each[int],
    h: Tensor[sa.half, 1],
    m: Tensor[sa.float2x2, 1],
    a: Tensor[Array[float, 3], 1],
    g: NoDiff[Each[float]],
) -> Each[float]:
    q = m[at]
    r = a[at]
    return g * (float(h[at]) + q[0, 0] * q[1, 1] - q[0, 1] * q[1, 0] + r[0] * r[2])


@sa.kernel
def sample(uv: Each[float2], t: Texture2D[float3, "repeat"], u: Texture2D[float, "clamp"]) -> Sum[float]:  # noqa: F821  (no names)
    c = t.sample(uv)
    return c.x * c.x + 2.0 * c.y * c.z + u.sample(uv) * c.x


@sa.kernel
def probed(at: Each[int], w: Tensor[float, 1]) -> Each[float]:
    y = sa.probe("y", w[at] * w[at])
    return y * y


@sa.kernel
def looked_up(at: Each[int], w: Tensor[float, 1], target: NoDiff[Each[float]]) -> Mean[float]:
    d = w[at] * w[at] - target
    return d * d


@sa.pipeline(optimizer=sa.Adam(lr=0.02))
def fitted(at: Each[int], w: Tensor[float, 1], target: NoDiff[Each[float]]) -> Mean[float]:
    return looked_up(at, w, target)
