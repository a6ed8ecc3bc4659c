"""A hash grid of 8 levels with 2 features and a network 16-W-W-3 with rectifiers, from the library of layers."""

from typing import Annotated, Any

from hash_grid import field_of

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2, float3

LEVELS, FEATURES, TABLE, BASE, GROWTH = 8, 2, 1 << 14, 16, 1.5


def loss_of(width: int, precision: str) -> Any:
    """The kernel of a network's loss, such as ``loss_64_half``."""
    features = sa.nn.HashGrid(levels=LEVELS, features=FEATURES, table=TABLE, base=BASE, growth=GROWTH)
    layers = sa.nn.MLP([LEVELS * FEATURES, width, width, 3], activation="relu", precision=precision)
    colours = Annotated[Any, field_of(features, layers)]

    @sa.kernel
    def loss(at: NoDiff[Each[float2]], target: NoDiff[Each[float3]], field: Param[colours]) -> Mean[float]:
        """The mean squared distance of the colours from the samples."""
        error: float = sa.nn.l2(field(at), target)
        return error

    return loss


loss_16_float = loss_of(16, "float")
loss_32_float = loss_of(32, "float")
loss_64_float = loss_of(64, "float")
loss_128_float = loss_of(128, "float")
loss_16_half = loss_of(16, "half")
loss_32_half = loss_of(32, "half")
loss_64_half = loss_of(64, "half")
loss_128_half = loss_of(128, "half")
