# flags: --targets cpp spirv
"""Layers that follow each other: in half, in float, and with a vector that two products read."""

import slangad as sa
from slangad import Array, Each, Param

Half = sa.nn.MLP([16, 32, 32, 3], "relu", precision="half")
Float = sa.nn.MLP([3, 16, 16, 3], "sigmoid")
Square = sa.nn.Linear(16, 16, precision="half")


@sa.kernel
def halfs(x: Each[Array[float, 16]], net: Param[Half]) -> Each[Array[float, 3]]:
    return net(x)


@sa.kernel
def floats(x: Each[Array[float, 3]], net: Param[Float]) -> Each[Array[float, 3]]:
    return net(x)


@sa.kernel
def twice(
    x: Each[Array[float, 16]], first: Param[Square], second: Param[Square], third: Param[Square]
) -> Each[Array[float, 16]]:
    y = first(x)
    a = second(y)
    b = third(sa.nn.relu(y))
    z = Array[float, 16]()
    for i in range(16):
        z[i] = a[i] * b[i]
    return z
