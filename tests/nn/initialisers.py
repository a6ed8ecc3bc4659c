"""Networks that start with each initialiser, for ``test_initialisers.py``."""

from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param


def network(init: str) -> Any:
    Net = sa.nn.MLP([50, 80, 40], activation="sine", init=init)
    Layer = sa.nn.Linear(50, 60, init=init)

    @sa.kernel
    def fit(x: NoDiff[Each[Array[float, 50]]], net: Param[Net], layer: Param[Layer]) -> Mean[float]:
        return net(x)[0] + layer(x)[0]

    return fit


by_activation = network("by_activation")
xavier_uniform = network("xavier_uniform")
xavier_normal = network("xavier_normal")
he_uniform = network("he_uniform")
he_normal = network("he_normal")
lecun_uniform = network("lecun_uniform")
lecun_normal = network("lecun_normal")
siren = network("siren")
zeros = network("zeros")


@sa.struct(initial={"latent": sa.nn.normal(0.5), "layer.w": (0.25, 0.25)})
class Model:
    latent: Array[float, 5000]
    layer: Annotated[Any, sa.nn.Linear(2, 3, init=(-0.125, 0.125))]


@sa.kernel
def own(
    x: NoDiff[Each[Array[float, 2]]],
    model: Param[Model],
    second: Param[Annotated[Any, sa.nn.MLP([2, 9], init=(-0.5, 0.25))]],
) -> Mean[float]:
    return model.latent[7] + model.layer(x)[0] + second(x)[0]


Sines = Annotated[Any, sa.nn.MLP([1, 64, 64, 1], activation="sine", init="siren")]


@sa.kernel
def wave(x: NoDiff[Each[float]], net: Param[Sines]) -> Mean[float]:
    error: float = net(Array[float, 1](x))[0] - sa.sin(25.0 * x) * x
    return error * error
