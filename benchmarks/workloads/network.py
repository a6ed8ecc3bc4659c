"""A network 16-W-W-3 with rectifiers, as a user writes it: loops over the arrays of one ``Param``."""

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param


def network(width: int, precision: str = "float"):
    """The network of a width, with products in a precision."""

    @sa.struct
    class Net:
        """Weights, row by row, and biases of three layers."""

        w1: Array[Array[float, 16], width]
        b1: Array[float, width]
        w2: Array[Array[float, width], width]
        b2: Array[float, width]
        w3: Array[Array[float, width], 3]
        b3: Array[float, 3]

        @sa.differentiable(precision=precision)
        def evaluate(self, x: Array[float, 16]) -> Array[float, 3]:
            """The network's answer to one input."""
            h = Array[float, width]()
            for i in range(width):
                total = self.b1[i]
                for j in range(16):
                    total += self.w1[i][j] * x[j]
                h[i] = max(total, 0.0)
            g = Array[float, width]()
            for i in range(width):
                total = self.b2[i]
                for j in range(width):
                    total += self.w2[i][j] * h[j]
                g[i] = max(total, 0.0)
            y = Array[float, 3]()
            for i in range(3):
                total = self.b3[i]
                for j in range(width):
                    total += self.w3[i][j] * g[j]
                y[i] = total
            return y

    return Net


Net16 = network(16)
Net32 = network(32)
Net64 = network(64)
Net128 = network(128)
Half16 = network(16, "half")
Half32 = network(32, "half")
Half64 = network(64, "half")
Half128 = network(128, "half")


@sa.differentiable
def squared(y: Array[float, 3], target: NoDiff[Array[float, 3]]) -> float:
    """The squared error of an answer."""
    total = 0.0
    for i in range(3):
        error = y[i] - target[i]
        total += error * error
    return total


@sa.kernel
def loss16(net: Param[Net16], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 16."""
    return squared(net.evaluate(x), target)


@sa.kernel
def loss32(net: Param[Net32], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 32."""
    return squared(net.evaluate(x), target)


@sa.kernel
def loss64(net: Param[Net64], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 64."""
    return squared(net.evaluate(x), target)


@sa.kernel
def loss128(net: Param[Net128], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 128."""
    return squared(net.evaluate(x), target)


@sa.kernel
def half16(net: Param[Half16], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 16, with products in half."""
    return squared(net.evaluate(x), target)


@sa.kernel
def half32(net: Param[Half32], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 32, with products in half."""
    return squared(net.evaluate(x), target)


@sa.kernel
def half64(net: Param[Half64], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 64, with products in half."""
    return squared(net.evaluate(x), target)


@sa.kernel
def half128(net: Param[Half128], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
    """The loss of width 128, with products in half."""
    return squared(net.evaluate(x), target)
