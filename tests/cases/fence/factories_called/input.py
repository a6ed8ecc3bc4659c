from typing import Any

import slangad as sa
from slangad import Array, float3

Frequency = sa.nn.Frequency


def power(n):
    @sa.differentiable
    def power(x: float) -> float:
        return x**n

    return power


def chosen(n: int) -> Any:
    return power(n)


@sa.differentiable
def own(x: float) -> float:
    cube = power(3)
    return power(2)(x) + cube(x) + chosen(2)(x)


@sa.differentiable
def layers(x: float3) -> float:
    net = sa.nn.MLP([3, 4, 1])
    return net(Array[float, 3](x.x, x.y, x.z))[0]


@sa.differentiable
def encoded(x: float3) -> float:
    return sa.nn.SphericalHarmonics(2)(x)[0]


@sa.differentiable
def imported(x: float) -> float:
    return Frequency(2)(x)[0]
