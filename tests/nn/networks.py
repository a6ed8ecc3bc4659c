"""Kernels with layers and activations of ``sa.nn``, for ``test_networks.py``."""

import slangad as sa
from slangad import Array, Each, Param


@sa.differentiable
def cubed(x: float) -> float:
    return x * x * x


Net = sa.nn.MLP([5, 17, 64, 64, 3], activation="relu", output="sigmoid")
Small = sa.nn.MLP([5, 13, 3], output="sigmoid")
HalfNet = sa.nn.MLP((5, 17, 3), "tanh", storage=sa.half)
One = sa.nn.MLP([1, 1, 1], cubed, bias=False)


@sa.kernel
def net(x: Each[Array[float, 5]], net: Param[Net]) -> Each[Array[float, 3]]:
    return net(x)


@sa.kernel
def small(x: Each[Array[float, 5]], net: Param[Small]) -> Each[Array[float, 3]]:
    return net(x)


@sa.kernel
def half_net(x: Each[Array[float, 5]], net: Param[HalfNet]) -> Each[Array[float, 3]]:
    return net(x)


@sa.kernel
def one(x: Each[Array[float, 1]], net: Param[One]) -> Each[Array[float, 1]]:
    return net(x)


@sa.kernel
def activations(x: Each[float]) -> Each[Array[float, 8]]:
    y = Array[float, 8]()
    y[0] = sa.nn.relu(x)
    y[1] = sa.nn.leaky_relu(x)
    y[2] = sa.nn.sigmoid(x)
    y[3] = sa.nn.tanh(x)
    y[4] = sa.nn.softplus(x)
    y[5] = sa.nn.gelu(x)
    y[6] = sa.nn.silu(x)
    y[7] = sa.nn.sine(x)
    return y
