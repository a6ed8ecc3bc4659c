"""Functions with layers, encodings and losses of ``sa.nn`` that ``slangad check`` passes."""

from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, float2, float3

Net = sa.nn.MLP([3, 5, 2], activation="silu", output="sigmoid")
Grid = sa.nn.HashGrid(2, 2, 16, 2, 1.7)
Levels = Annotated[Any, sa.nn.HashGrid(3, 2, 16, 2, 1.7)]
Layers = Annotated[Any, sa.nn.MLP([6, 16, 1])]
Odd = Annotated[Any, sa.nn.MLP([1, 33, 3], activation="tanh")]
frequency = sa.nn.Frequency(2)
harmonics = sa.nn.SphericalHarmonics(3)
blob = sa.nn.OneBlob(3)


@sa.differentiable
def network(net: Net, x: Array[float, 3]) -> float:
    return net(x)[0]


@sa.differentiable(ranges={"x": (0.01, 0.99)})
def grid(grid: Grid, x: float2) -> float:
    y = grid(x)
    return y[0] + y[1] + y[2] * y[3]


@sa.differentiable
def encodings(x: float3) -> float:
    return frequency(x)[3] + harmonics(x)[5] * blob(x)[2]


@sa.differentiable
def losses(x: float3, y: float3) -> float:
    return sa.nn.l2(x, y) + sa.nn.huber(x, y) + sa.nn.relative_l2(x, y)


@sa.kernel
def fit(at: NoDiff[Each[float2]], levels: Param[Levels], layers: Param[Layers]) -> Mean[float]:
    """Its layers are products of matrices, and the loop over levels becomes a function with derivatives of its own."""
    return layers(levels(at))[0]


@sa.kernel
def of_odd_width(x: Each[float], net: Param[Odd]) -> Each[float3]:
    """GCC 12 loses stores of its gradient if strict aliasing is on."""
    y = net(Array[float, 1](x))
    return float3(y[0], y[1], y[2])
