import slangad as sa
from slangad import Each, NoDiff, Param, float3


@sa.differentiable
def g(w: float3, x: float3, k: NoDiff[float]) -> float:
    return k * sa.dot(w, x) * x.y


@sa.differentiable
def declared(w: float, x: float) -> float:
    return w * x * x


@declared.backward
def declared_backward(w, x, d_out):
    return d_out * x * x, 2.0 * d_out * w * x


@sa.kernel
def slopes(w: Param[float3], x: NoDiff[Each[float3]]) -> Each[float]:
    _, slope = sa.bwd_diff(g)(w, x, 2.0, 1.0)
    other = sa.bwd_diff(g)(w, slope, 2.0, 1.0)[0]
    _, of_x = sa.bwd_diff(declared)(w.x, x.x, 1.0)
    return sa.dot(slope, other) + of_x
