"""A network of three layers, described with ``sa.nn``."""

import slangad as sa
from slangad import Array

Net = sa.nn.MLP([2, 16, 16, 3], activation="relu", output="sigmoid")
Half = sa.nn.Linear(3, 1, storage=sa.half)


@sa.differentiable
def shade(net: Net, last: Half, x: Array[float, 2]) -> float:
    return last(net(x))[0]
