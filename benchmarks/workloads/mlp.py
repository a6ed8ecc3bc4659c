"""W2: a network of 4 inputs, 16 hidden units and 4 outputs, with leaky rectifiers, and its squared error."""

import slangad as sa
from slangad import Array, Each, NoDiff, Param, Sum, float2, float4

HIDDEN = 16


@sa.struct
class Network:
    w1: Array[float4, HIDDEN]
    b1: Array[float, HIDDEN]
    w2: Array[float4, HIDDEN]
    b2: float4


@sa.differentiable
def leaky(z: float) -> float:
    return z if z > 0.0 else 0.01 * z


@sa.differentiable
def evaluate(net: Network, x: float, y: float) -> float4:
    given = float4(x, y, x * x, y * y)
    out = net.b2
    for i in sa.range(HIDDEN, unroll=True):
        out = out + net.w2[i] * leaky(sa.dot(net.w1[i], given) + net.b1[i])
    return float4(leaky(out.x), leaky(out.y), leaky(out.z), leaky(out.w))


@sa.kernel
def fit(at: NoDiff[Each[float2]], net: Param[Network]) -> Sum[float]:
    x = at.x
    y = at.y
    wanted = float4((x + y) / (1.0 + y * y), 2.0 * x + y, 0.5 * x * x + 1.2 * y, x + 0.5 * y * y)
    error = evaluate(net, x, y) - wanted
    return sa.dot(error, error)
