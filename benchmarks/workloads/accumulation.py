"""Kernels that use every method of adding gradients; ``slangad compile -v`` names each method."""

import slangad as sa
from slangad import Array, Each, OutTensor, Param, Sum, Tensor, Texture2D, Uniform, float2, float3, float4


@sa.kernel
def param(x: Each[float], w: Param[float3]) -> Each[float3]:
    return x * w


@sa.kernel
def total(x: Each[float3]) -> Sum[float3]:
    return x


@sa.kernel
def few(x: Each[float], w: Tensor[float, 1]) -> Each[float]:
    y = 0.0
    for k in range(3):
        y += x * w[k]
    return y


@sa.kernel
def shared(n: Uniform[int], x: Each[float], w: Tensor[float, 1]) -> Each[float]:
    return x * w[n]


@sa.kernel
def own(w: Tensor[float, 1], out: OutTensor[float, 1]):
    i = sa.thread_id(0)
    out[i] = 2.0 * w[i]


@sa.kernel
def scatter(at: Each[int], w: Tensor[float, 1]) -> Each[float]:
    return w[at]


@sa.kernel
def pair(at: Each[int], v: Tensor[float, 1], w: Tensor[float, 1]) -> Each[float]:
    return v[at] + w[at]


@sa.kernel
def scatter2(at: Each[int], w: Tensor[float2, 1]) -> Each[float2]:
    return w[at]


@sa.kernel
def table1(at: Each[int], w: Param[Array[float, 131072]]) -> Each[float]:
    return w[at]


@sa.kernel
def table2(at: Each[int], w: Param[Array[float2, 131072]]) -> Each[float2]:
    return w[at]


@sa.kernel
def table3(at: Each[int], w: Param[Array[float3, 65537]]) -> Each[float3]:
    return w[at]


@sa.kernel
def table4(at: Each[int], w: Param[Array[float4, 65536]]) -> Each[float4]:
    return w[at]


@sa.kernel
def branch(at: Each[int], on: Each[int], w: Param[Array[float2, 131072]]) -> Each[float2]:
    y = float2(0.0)
    if on > 0:
        y = w[at]
    return y


@sa.kernel(dims=2)
def sheet(at: Each[int], w: Param[Array[float2, 131072]]) -> Each[float2]:
    return w[at]


@sa.kernel(dims=2, tile=(16, 16))
def tiled(at: Each[int], w: Param[Array[float2, 131072]], v: Tensor[float2, 2]) -> Each[float2]:
    return w[at] + v[sa.thread_id(0) // 16, sa.thread_id(1) // 16]


@sa.kernel
def scatter3(at: Each[int], w: Tensor[float3, 1]) -> Each[float3]:
    return w[at]


@sa.kernel
def scatter4(at: Each[int], w: Tensor[float4, 1]) -> Each[float4]:
    return w[at]


@sa.kernel
def texels(uv: Each[float2], t: Texture2D[float4]) -> Each[float4]:
    return t.sample(uv)
