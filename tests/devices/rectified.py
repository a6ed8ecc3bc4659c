"""Networks in half with max(x, 0) between their layers, and one layer that is followed by another function."""

import slangad as sa
from slangad import Array, Each, NoDiff, Param


def network(*hidden: int):
    """A network with hidden layers of some widths, and a kernel of its results."""
    Net = sa.nn.MLP([16, *hidden, 3], "relu", precision="half")

    @sa.kernel
    def results(net: Param[Net], x: Each[Array[float, 16]]) -> Each[Array[float, 3]]:
        return net(x)

    return results


n16 = network(16)
n64 = network(64, 64)
n128 = network(128, 128)
uneven = network(48, 128, 96)
wide = network(128, 144, 32)


@sa.differentiable
def blocked(x: NoDiff[float], y: float) -> float:
    return max(x, 0.0)


@sa.differentiable
def activation(x: float) -> float:
    """max(x, 0), without a gradient."""
    return blocked(x, x * x)


Blocked = sa.nn.MLP([16, 48, 48, 3], activation, precision="half")


@sa.kernel
def without_gradient(net: Param[Blocked], x: Each[Array[float, 16]]) -> Each[Array[float, 3]]:
    return net(x)


@sa.struct
class Mixed:
    l1: sa.nn.Linear(16, 48, precision="half")
    l2: sa.nn.Linear(48, 64, bias=False, precision="half")
    l3: sa.nn.Linear(64, 32, precision="half")
    l4: sa.nn.Linear(32, 3, precision="half")


@sa.kernel
def mixed(net: Param[Mixed], x: Each[Array[float, 16]]) -> Each[Array[float, 3]]:
    """A rectifier after the first two layers, the second without a bias; then another function."""
    return net.l4(sa.nn.sine(net.l3(sa.nn.relu(net.l2(sa.nn.relu(net.l1(x)))))))
