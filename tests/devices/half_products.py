"""Networks with products in half, where the device has matrix units, and the same in float."""

import slangad as sa
from slangad import Array, Each, Param, Sum


def network(width: int, activation: str, hidden: int, precision: str, inputs: int = 16):
    """A network with some hidden layers of one width, and a kernel of its results."""
    Net = sa.nn.MLP([inputs, *[width] * hidden, 3], activation, precision=precision)

    @sa.kernel
    def results(net: Param[Net], x: Each[Array[float, inputs]]) -> Each[Array[float, 3]]:
        return net(x)

    return results


def of_halfs(width: int, activation: str, hidden: int, precision: str):
    """The same with weights and biases that are stored as halfs."""
    Net = sa.nn.MLP([16, *[width] * hidden, 3], activation, storage=sa.half, precision=precision)

    @sa.kernel
    def stored(net: Param[Net], x: Each[Array[float, 16]]) -> Each[Array[float, 3]]:
        return net(x)

    return stored


def uneven(first: int, second: int, third: int, group: int, precision: str):
    """A network with three hidden layers of different widths, in groups of at least some threads."""
    Net = sa.nn.MLP([16, first, second, third, 3], "tanh", precision=precision)

    @sa.kernel(group_size=group)
    def between(net: Param[Net], x: Each[Array[float, 16]]) -> Each[Array[float, 3]]:
        return net(x)

    return between


w16 = network(16, "tanh", 1, "half")
w17 = network(17, "tanh", 1, "half")
w32 = network(32, "tanh", 2, "half")
w64 = network(64, "tanh", 2, "half")
w128 = network(128, "tanh", 2, "half")
w100 = network(100, "tanh", 2, "half")
f80 = network(80, "tanh", 2, "float")
straight = network(13, "none", 1, "half")
straight_64 = network(64, "none", 2, "half")
float_straight_64 = network(64, "none", 2, "float")
u48 = uneven(48, 16, 64, 512, "half")
u17 = uneven(32, 17, 48, 256, "half")
f16 = network(16, "tanh", 1, "float")
f17 = network(17, "tanh", 1, "float")
f32 = network(32, "tanh", 2, "float")
f64 = network(64, "tanh", 2, "float")
f128 = network(128, "tanh", 2, "float")
fu48 = uneven(48, 16, 64, 512, "float")
fu16 = uneven(16, 64, 16, 256, "float")
fu33 = uneven(33, 16, 16, 256, "float")
fu80 = uneven(64, 80, 48, 256, "float")
uu80 = uneven(64, 80, 48, 256, "half")
s17 = of_halfs(17, "tanh", 1, "half")
s64 = of_halfs(64, "tanh", 2, "half")
s128 = of_halfs(128, "tanh", 2, "half")
sf17 = of_halfs(17, "tanh", 1, "float")
sf64 = of_halfs(64, "tanh", 2, "float")
digits = network(48, "tanh", 1, "float", 784)
many = network(48, "tanh", 1, "float", 652)
many_half = network(48, "tanh", 1, "half", 652)


@sa.struct
class Alternating:
    """Layers in half and in float, small enough for waves to work alone, in turns."""

    l1: sa.nn.Linear(16, 17, precision="half")
    l2: sa.nn.Linear(17, 16)
    l3: sa.nn.Linear(16, 16, precision="half")
    l4: sa.nn.Linear(16, 3)


@sa.kernel
def alternating(net: Param[Alternating], x: Each[Array[float, 16]]) -> Each[Array[float, 3]]:
    first = sa.nn.tanh(net.l2(sa.nn.tanh(net.l1(x))))
    return net.l4(sa.nn.tanh(net.l3(first)))


@sa.struct
class Stack:
    """Layers of one size, without biases, that a loop chooses."""

    w: Array[Array[Array[float, 16], 16], 3]


@sa.differentiable(precision="half")
def through(w: Array[Array[float, 16], 16], x: Array[float, 16]) -> Array[float, 16]:
    y = Array[float, 16]()
    for i in range(16):
        total = 0.0
        for j in range(16):
            total += w[i][j] * x[j]
        y[i] = x[i] + total
    return y


@sa.kernel
def stacked(net: Param[Stack], x: Each[Array[float, 16]]) -> Sum[float]:
    y = sa.copy(x)
    for k in range(3):
        y = through(net.w[k], y)
    total = 0.0
    for i in range(16):
        total += y[i] * y[i]
    return total
