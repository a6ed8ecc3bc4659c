"""A small network with sized types: a factory makes the layers, each with weights of its own size."""

from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, NoDiff, float4


@sa.differentiable
def leaky_relu(x: float) -> float:
    """Lets a little of what is negative through."""
    return x if x > 0.0 else 0.01 * x


def feed_forward(inputs: int, outputs: int) -> type:
    """A fully connected layer from ``inputs`` to ``outputs`` values."""

    @sa.struct
    class FeedForward:
        """One fully connected layer."""

        weights: Array[float, inputs * outputs]
        biases: Array[float, outputs]

        def apply(self, x: Array[float, inputs]) -> Array[float, outputs]:
            """The activations of one input."""
            y = Array[float, outputs]()
            for row in range(outputs):
                total = self.biases[row]
                for column in range(inputs):
                    total += self.weights[row * inputs + column] * x[column]
                y[row] = leaky_relu(total)
            return y

    return FeedForward


# type checkers read Any, slangad the struct
Hidden = Annotated[Any, feed_forward(4, 16)]
Output = Annotated[Any, feed_forward(16, 4)]


@sa.struct
class Network:
    """Two layers."""

    hidden: Hidden
    output: Output

    def evaluate(self, x: Array[float, 4]) -> Array[float, 4]:
        """The network's answer to one input."""
        return self.output.apply(self.hidden.apply(x))


@sa.kernel
def loss(network: Each[Network], x: NoDiff[Each[float4]], target: NoDiff[Each[float4]]) -> Each[float]:
    """The squared error of one network on one example."""
    y = network.evaluate(Array[float, 4](x.x, x.y, x.z, x.w))
    total = 0.0
    for i in range(4):
        error = y[i] - target[i]
        total += error * error
    return total
