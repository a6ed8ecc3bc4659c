"""A linear layer over a batch: weights in tensors, the sums of their gradients made by slangad."""

import slangad as sa
from slangad import Array, Each, Tensor

INPUTS, OUTPUTS = 3, 2


@sa.kernel(shapes={"weights": (OUTPUTS, INPUTS), "bias": (OUTPUTS,)})
def linear(
    x: Each[Array[float, INPUTS]], weights: Tensor[float, 2], bias: Tensor[float, 1]
) -> Each[Array[float, OUTPUTS]]:
    """The outputs for one input."""
    y = Array[float, OUTPUTS]()
    for row in range(OUTPUTS):
        y[row] = bias[row]
        for column in range(INPUTS):
            y[row] += weights[row, column] * x[column]
    return y
