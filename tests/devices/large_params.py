"""Large ``Param``s: networks in several spellings, tables, and one that is used as a whole value."""

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, Sum, float2, float3

WIDTH = 9


@sa.struct
class Layer:
    w: Array[Array[float, WIDTH], WIDTH]
    b: Array[float, WIDTH]

    @sa.differentiable
    def apply(self, x: Array[float, WIDTH]) -> Array[float, WIDTH]:
        y = sa.copy(self.b)
        for i in range(WIDTH):
            row = self.w[i]
            for j in range(WIDTH):
                y[i] += row[j] * x[j]
        return y


@sa.struct
class Net:
    first: Layer
    hidden: Array[Layer, 2]
    slope: NoDiff[float]
    head: Array[float3, WIDTH]
    shift: float3


@sa.differentiable
def bend(x: Array[float, WIDTH], slope: float) -> Array[float, WIDTH]:
    y = Array[float, WIDTH]()
    for i in range(WIDTH):
        y[i] = max(x[i], slope * x[i])
    return y


@sa.differentiable
def weighted(rows: Array[float3, WIDTH], x: Array[float, WIDTH]) -> float3:
    total = float3(0.0)
    for i in range(WIDTH):
        total += rows[i] * x[i]
    return total


@sa.kernel
def network(net: Param[Net], x: Each[Array[float, WIDTH]], target: Each[float3]) -> Mean[float]:
    y = bend(net.first.apply(x), net.slope)
    for k in range(2):
        y = bend(net.hidden[k].apply(y), net.slope)
    d = weighted(net.head, y) + net.shift - target
    return sa.dot(d, d)


@sa.kernel
def table(rows: Param[Array[float2, 5000]], at: Each[int], x: Each[float]) -> Each[float]:
    a = rows[at]
    b = rows[(at * 7 + 3) % 5000]
    return a.x * x + b.y * a.y


@sa.kernel
def own(scale: Param[Array[float, 300]], x: Each[float]) -> Each[float]:
    return scale[sa.thread_id()] * x


@sa.struct
class Curve:
    knots: Array[float, 80]


@sa.differentiable
def end(curve: Curve, x: float) -> float:
    return curve.knots[79] * x


@end.backward
def end_bwd(curve, x, d_out):
    d_knots = Array[float, 80]()
    d_knots[79] = x * d_out
    return Curve(d_knots), curve.knots[79] * d_out


@sa.kernel
def whole(curve: Param[Curve], x: Each[float]) -> Sum[float]:
    return end(curve, x) + curve.knots[3] * x
