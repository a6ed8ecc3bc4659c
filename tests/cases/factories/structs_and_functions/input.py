import slangad as sa
from slangad import Array, Each


def feed_forward(inputs, outputs, unused=3):
    size = inputs * outputs

    @sa.struct
    class FeedForward:
        weights: Array[float, size]
        bias: Array[float, outputs]

        def row(self, x: Array[float, inputs], at: int) -> float:
            s = self.bias[at]
            for i in range(inputs):
                s += self.weights[at * inputs + i] * x[i]
            return s

    return FeedForward


def scaled(factor, offset):
    @sa.differentiable
    def apply(x: float) -> float:
        return x * factor + offset

    return apply


def with_layer(Layer, activation):
    @sa.differentiable
    def run(layer: Layer, x: Array[float, 2]) -> float:
        return activation(layer.row(x, 0))

    return run


Small = feed_forward(2, 3)
Again = feed_forward(2, 3, unused=7)
Large = feed_forward(2, 16)
half = scaled(0.5, -1)
double = scaled(2, 1)
run_small = with_layer(Small, half)
run_large = with_layer(Large, double)


@sa.kernel
def k(a: Each[Small], b: Each[Again], c: Each[Large], x: Each[Array[float, 2]]) -> Each[float]:
    return run_small(a, x) + run_small(b, x) + run_large(c, x)
