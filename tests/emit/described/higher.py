"""Derivatives inside programs: of functions that are differentiated again, and of ones that are not."""

import slangad as sa
from slangad import Each, float3


@sa.struct
class Well:
    depth: float
    order: int

    def energy(self, x: float) -> float:
        return self.depth * x * x * x


@sa.differentiable
def energy(x: float, k: float) -> float:
    return k * x * x * x


@sa.differentiable
def twist(v: float3, k: float) -> float3:
    return v * v * k


@sa.differentiable
def cube(x: float) -> float:
    return x * x * x


@cube.backward
def cube_bwd(x, d_out):
    return 3.0 * x * x * d_out


@sa.differentiable
def walled(x: float) -> float:
    return cube(x) * x + cube(x * x)


@sa.kernel
def force(x: Each[float], k: Each[float]) -> Each[float]:
    dx, dk = sa.bwd_diff(energy)(x, k, 1.0)
    return dx * dx + dk


@sa.kernel
def slope(x: Each[float], k: Each[float]) -> Each[float]:
    pair = sa.fwd_diff(energy)(sa.diff_pair(x, 1.0), sa.diff_pair(k, 0.0))
    return pair.p * pair.d


@sa.kernel
def of_custom(x: Each[float]) -> Each[float]:
    return sa.bwd_diff(cube)(x, x) * x


@sa.kernel
def of_vectors(k: Each[float], x: Each[float]) -> Each[float]:
    dv, dk = sa.bwd_diff(twist)(float3(x, x * x, 1.0), k, float3(1.0, k, 2.0))
    return dv.x * dv.y + dk


@sa.kernel
def tangent_of_custom(x: Each[float]) -> Each[float]:
    return sa.fwd_diff(cube)(sa.diff_pair(x, x)).d * x


@sa.kernel
def tangent_through_custom(x: Each[float]) -> Each[float]:
    return sa.fwd_diff(walled)(sa.diff_pair(x, 1.0)).d * x


@sa.kernel
def gradient_through_custom(x: Each[float]) -> Each[float]:
    return sa.bwd_diff(walled)(x, 1.0) * x
