"""A hash grid and a network that learn an image from samples: ``fit`` is large, ``small`` is for exact sums."""

from typing import Annotated, Any

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2, float3


def field_of(features: Any, layers: Any) -> Any:
    """The struct of features of the position, then a network."""

    @sa.struct
    class Field:
        """An image by position."""

        grid: Annotated[Any, features]
        net: Annotated[Any, layers]

        def __call__(self, at: float2) -> float3:
            """The colour at a position in [0, 1]."""
            c = self.net(self.grid(at))
            return float3(c[0], c[1], c[2])

    return Field


Field = Annotated[
    Any,
    field_of(
        sa.nn.HashGrid(levels=8, features=2, table=65536, base=16, growth=1.6),
        sa.nn.MLP([16, 64, 64, 3], activation="relu"),
    ),
]
SmallField = Annotated[
    Any,
    field_of(
        sa.nn.HashGrid(levels=4, features=2, table=512, base=4, growth=1.8), sa.nn.MLP([8, 16, 3], activation="relu")
    ),
]


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
