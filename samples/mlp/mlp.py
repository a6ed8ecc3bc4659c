"""Fits four polynomials of two variables with a small network, in float and in half.

The network is that of Slang's tutorial on automatic differentiation: its layers have a derivative of their own, and its
weights are one struct that all threads share.
"""

from __future__ import annotations

from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, float2, float4

SLOPE = 0.01


def feed_forward(number: type, inputs: int, outputs: int) -> type:
    """A fully connected layer with a leaky rectifier, from ``inputs`` to ``outputs`` values of a type."""

    @sa.struct
    class FeedForward:
        """One fully connected layer; its weights stand row by row."""

        weights: Array[number, inputs * outputs]
        biases: Array[number, outputs]

        @sa.differentiable
        def apply(self, x: Array[number, inputs]) -> Array[number, outputs]:
            """The activations of one input."""
            y = sa.copy(self.biases)
            for row in range(outputs):
                for column in range(inputs):
                    y[row] += self.weights[row * inputs + column] * x[column]
                if y[row] < 0.0:
                    y[row] *= SLOPE
            return y

        @apply.backward
        def apply_bwd(
            self, x: Array[number, inputs], d_out: Array[number, outputs]
        ) -> tuple[FeedForward, Array[number, inputs]]:
            y = self.apply(x)
            d_biases = sa.copy(d_out)
            d_weights = Array[number, inputs * outputs]()
            d_x = Array[number, inputs]()
            for row in range(outputs):
                if y[row] < 0.0:
                    d_biases[row] *= SLOPE
                # the weights' gradient is an outer product, the input's a product with the transpose
                for column in range(inputs):
                    d_weights[row * inputs + column] = d_biases[row] * x[column]
                    d_x[column] += self.weights[row * inputs + column] * d_biases[row]
            return FeedForward(d_weights, d_biases), d_x

    return FeedForward


def network(number: type) -> type:
    """Two layers over numbers of a type."""
    Hidden = feed_forward(number, 4, 16)
    Output = feed_forward(number, 16, 4)

    @sa.struct
    class Network:
        """4 inputs, 16 hidden units, 4 outputs."""

        hidden: Annotated[Any, Hidden]
        output: Annotated[Any, Output]

        def evaluate(self, x: Annotated[Any, number], y: Annotated[Any, number]) -> Array[number, 4]:
            """The network's answer for one point."""
            hidden = self.hidden.apply(Array[number, 4](x, y, x * x, y * y))
            return self.output.apply(hidden)

    return Network


Network = Annotated[Any, network(float)]
HalfNetwork = Annotated[Any, network(sa.half)]


@sa.function
def truth(x: float, y: float) -> float4:
    """What the network is to learn."""
    return float4((x + y) / (1.0 + y * y), 2.0 * x + y, 0.5 * x * x + 1.2 * y, x + 0.5 * y * y)


@sa.kernel
def loss(at: NoDiff[Each[float2]], net: Param[Network]) -> Mean[float]:
    """The squared error at random points."""
    found = net.evaluate(at.x, at.y)
    error = float4(found[0], found[1], found[2], found[3]) - truth(at.x, at.y)
    return sa.dot(error, error)


@sa.kernel
def half_loss(at: NoDiff[Each[float2]], net: Param[HalfNetwork]) -> Mean[float]:
    """The same of a network in half precision; the error is taken in float."""
    found = net.evaluate(sa.half(at.x), sa.half(at.y))
    error = float4(float(found[0]), float(found[1]), float(found[2]), float(found[3])) - truth(at.x, at.y)
    return sa.dot(error, error)


@sa.pipeline(optimizer=sa.SGD(lr=0.02, momentum=0.9))
def fit(at: NoDiff[Each[float2]], net: Param[Network]) -> Mean[float]:
    """Trains the network."""
    return loss(at, net)


@sa.pipeline(optimizer=sa.SGD(lr=0.02, momentum=0.9))
def fit_half(at: NoDiff[Each[float2]], net: Param[HalfNetwork]) -> Mean[float]:
    """Trains the network in half precision."""
    return half_loss(at, net)
