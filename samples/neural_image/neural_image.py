"""Learns an image with a hash grid and a small network: colours as a function of the position."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2, float3

Grid = sa.nn.HashGrid(levels=4, features=2, table=512, base=4, growth=1.8)
Net = sa.nn.MLP([8, 16, 3], activation="relu", output="sigmoid")


@sa.struct
class Field:
    """The image: features of the position, then a network."""

    grid: Grid
    net: Net

    def __call__(self, at: float2) -> float3:
        """The colour at a position in [0, 1]."""
        c = self.net(self.grid(at))
        return float3(c[0], c[1], c[2])


@sa.kernel(dims=2)
def mismatch(image: NoDiff[Each[float3]], field: Param[Field]) -> Mean[float]:
    """The squared error of each pixel."""
    at = float2(
        (float(sa.thread_id(1)) + 0.5) / float(sa.thread_count(1)),
        (float(sa.thread_id(0)) + 0.5) / float(sa.thread_count(0)),
    )
    return sa.nn.l2(field(at), image)


@sa.kernel
def render(at: Each[float2], field: Param[Field]) -> Each[float3]:
    """The learned colours at any positions."""
    return field(at)


@sa.pipeline(optimizer=sa.Adam(lr=0.02))
def fit(image: NoDiff[Each[float3]], field: Param[Field]) -> Mean[float]:
    """Trains on all pixels."""
    return mismatch(image, field)
