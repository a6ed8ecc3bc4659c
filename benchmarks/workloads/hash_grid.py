"""A hash grid and a network that learn an image from samples: ``fit`` is large, ``small`` is for exact sums."""

from typing import Annotated, Any

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2, float3

Grid = Annotated[Any, sa.nn.HashGrid(levels=8, features=2, table=65536, base=16, growth=1.6)]
Net = Annotated[Any, sa.nn.MLP([16, 64, 64, 3], activation="relu")]
SmallGrid = Annotated[Any, sa.nn.HashGrid(levels=4, features=2, table=512, base=4, growth=1.8)]
SmallNet = Annotated[Any, sa.nn.MLP([8, 16, 3], activation="relu")]


@sa.struct
class Field:
    """Features of the position, then a network."""

    grid: Grid
    net: Net

    def __call__(self, at: float2) -> float3:
        """The colour at a position in [0, 1]."""
        c = self.net(self.grid(at))
        return float3(c[0], c[1], c[2])


@sa.struct
class SmallField:
    """The same with fewer parameters."""

    grid: SmallGrid
    net: SmallNet

    def __call__(self, at: float2) -> float3:
        """The colour at a position in [0, 1]."""
        c = self.net(self.grid(at))
        return float3(c[0], c[1], c[2])


@sa.kernel
def fit(at: NoDiff[Each[float2]], colour: NoDiff[Each[float3]], field: Param[Field]) -> Mean[float]:
    """The squared error of the samples."""
    error: float = sa.nn.l2(field(at), colour)
    return error


@sa.kernel
def small(at: NoDiff[Each[float2]], colour: NoDiff[Each[float3]], field: Param[SmallField]) -> Mean[float]:
    """The same of the small field."""
    error: float = sa.nn.l2(field(at), colour)
    return error
