"""Layers in half give their positive parts to the next one: the first to the second, which has no bias, that to the last."""

import slangad as sa
from slangad import Array, Each, Param, Sum


@sa.struct
class Net:
    first: sa.nn.Linear(3, 48, precision="half")
    second: sa.nn.Linear(48, 64, bias=False, precision="half")
    last: sa.nn.Linear(64, 2, precision="half")


@sa.kernel
def loss(net: Param[Net], x: Each[Array[float, 3]]) -> Sum[float]:
    y = net.last(sa.nn.relu(net.second(sa.nn.relu(net.first(x)))))
    return y[0] * y[0] + y[1] * y[1]
