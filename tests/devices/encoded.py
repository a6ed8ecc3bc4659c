"""Encodings before a layer: loops that set several entries of an array in each turn, and grids of trained features."""

import math

import slangad as sa
from slangad import Array, Each, Param, float2, float3

Layer = sa.nn.Linear(10, 9)
Grid = sa.nn.HashGrid(levels=3, features=4, table=64, base=3, growth=1.7)
Wide = sa.nn.Linear(12, 9)
Deep = sa.nn.DenseGrid(levels=5, features=2, base=2, growth=1.5, dims=3)


@sa.struct
class Hashed:
    grid: Grid
    layer: Wide


@sa.struct
class Dense:
    grid: Deep
    layer: Layer


@sa.kernel
def waves(net: Param[Layer], x: Each[float2]) -> Each[Array[float, 9]]:
    y = Array[float, 10]()
    for i in range(5):
        angle = x.x * float(i + 1) + x.y
        y[i * 2] = math.sin(angle)
        y[2 * i + 1] = math.cos(angle) * x.y
    return net(y)


@sa.kernel
def bumps(net: Param[Layer], x: Each[float2]) -> Each[Array[float, 9]]:
    y = Array[float, 10]()
    for i in range(2):
        centre = x[i]
        for k in range(5):
            offset = centre - 0.25 * float(k)
            if offset > 0.5:
                offset = 0.5 * (offset + 0.5)
            y[i * 5 + k] = math.exp(-offset * offset)
    return net(y)


@sa.kernel
def hashed(net: Param[Hashed], x: Each[float2]) -> Each[Array[float, 9]]:
    return net.layer(net.grid(x))


@sa.kernel
def dense(net: Param[Dense], x: Each[float3]) -> Each[Array[float, 9]]:
    return net.layer(net.grid(x))
