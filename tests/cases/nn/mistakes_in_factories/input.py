"""Functions in place of the names of activations: the help has the name."""

from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, Param

Waves = Annotated[Any, sa.nn.MLP([3, 8, 1], activation=sa.sin)]


@sa.kernel
def fit(x: Each[Array[float, 3]], net: Param[Waves]) -> Each[float]:
    return net(x)[0]
