"""Every layer."""

import slangad as sa
from slangad import Array, Each, Mean, Param, float2, float3

Plain = sa.nn.Linear(4, 3)
NoBias = sa.nn.Linear(3, 2, bias=False, storage=sa.half)
Net = sa.nn.MLP([2, 17, 1], activation="tanh", output="softplus", bias=False, storage="half")
Hashed = sa.nn.HashGrid(levels=2, features=2, table=64, base=4, growth=2.0, dims=3, storage=sa.half)
Dense = sa.nn.DenseGrid(levels=1, features=2, base=4)
waves = sa.nn.Frequency(2)
blobs = sa.nn.OneBlob(4)
harmonics = sa.nn.SphericalHarmonics(2)


@sa.struct
class Model:
    """Layers in a struct."""

    plain: Plain
    last: NoBias
    grid: Dense

    def weigh(self, x: Array[float, 4]) -> Array[float, 2]:
        return self.last(sa.nn.relu(self.plain(x)))


@sa.differentiable
def features(x: float) -> Array[float, 4]:
    return waves(x)


@sa.kernel
def positions(at: Each[float2], model: Param[Model], net: Param[Net]) -> Mean[float]:
    a = model.weigh(features(at.x))
    b = model.grid(at)
    return sa.nn.l2(a, b) + net(b)[0]


@sa.kernel
def directions(d: Each[float3], grid: Param[Hashed]) -> Each[float]:
    h = harmonics(d)
    g = grid(d)
    o = blobs(d.x)
    return sa.nn.huber(h, g, delta=0.5) + sa.nn.gelu(o[0])
