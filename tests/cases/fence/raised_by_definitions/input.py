"""What a definition raises, unsupported syntax and errors of meaning come at once; what may follow from them does not."""

from __future__ import annotations

import slangad as sa
from slangad import Each, Param, Sum, Tensor


@sa.struct
class Lamp:
    power: flaot  # noqa: F821
    place: sa.float3


@sa.differentiable
def light(lamp: Lamp, x: float) -> float:
    return lamp.power * unknown(x)  # noqa: F821  (may follow: the struct is unknown)


@sa.differentiable
def refused(x: float) -> float:
    return sum([x for _ in range(3)])


@sa.differentiable
def mixed(x: float, v: sa.float3) -> float:
    return x + v


@sa.kernel
def render(x: Each[float], lamp: Param[Lamp]) -> Sum[float]:
    return light(lamp, x)


@sa.kernel
def table(x: Each[float], w: Tensor[float, "two"]) -> Sum[float]:
    return x * w[0]


@sa.kernel
def last(x: Each[float]) -> Each[float]:
    return sa.relux(x)
