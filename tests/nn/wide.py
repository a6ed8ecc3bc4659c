"""A network so wide that its products are loops."""

import slangad as sa
from slangad import Array, Each, Param

Net = sa.nn.MLP([70, 1024, 2])


@sa.kernel
def wide(x: Each[Array[float, 70]], net: Param[Net]) -> Each[Array[float, 2]]:
    """A network of 70 - 1024 - 2."""
    return net(x)
