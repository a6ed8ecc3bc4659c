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


@sa.differentiable
def squared(y: Array[float, 3], target: NoDiff[Array[float, 3]]) -> float:
    """The squared error of an answer."""
    total = 0.0
    for i in range(3):
        error = y[i] - target[i]
        total += error * error
    return total


def loss_of(width: int, precision: str):
    """The kernel of a network's loss, such as ``loss_64_half``."""
    net_type = network(width, precision)

    @sa.kernel
    def loss(net: Param[net_type], x: Each[Array[float, 16]], target: NoDiff[Each[Array[float, 3]]]) -> Mean[float]:
        """The loss."""
        return squared(net.evaluate(x), target)

    return loss


loss_16_float = loss_of(16, "float")
loss_32_float = loss_of(32, "float")
loss_64_float = loss_of(64, "float")
loss_128_float = loss_of(128, "float")
loss_16_half = loss_of(16, "half")
loss_32_half = loss_of(32, "half")
loss_64_half = loss_of(64, "half")
loss_128_half = loss_of(128, "half")
