# flags: --targets cpp spirv
"""Two kernels with a layer in half: a narrow one, and one with more columns than a tile on Vulkan."""

import slangad as sa
from slangad import Array, Each, Param

Narrow = sa.nn.Linear(9, 9, precision="half")
Wide = sa.nn.Linear(65, 2, precision="half")


@sa.kernel
def narrow(x: Each[Array[float, 9]], net: Param[Narrow]) -> Each[Array[float, 9]]:
    return net(x)


@sa.kernel
def wide(x: Each[Array[float, 65]], net: Param[Wide]) -> Each[Array[float, 2]]:
    return net(x)
