"""The same in Python: a tensor is read at any index, and slangad adds the gradients up."""

import slangad as sa
from slangad import Each, NoDiff, Tensor


@sa.kernel(shapes={"weights": (5,)})
def blend(index: NoDiff[Each[int]], t: Each[float], weights: Tensor[float, 1]) -> Each[float]:
    """A value between two neighbours."""
    first = index % 4
    low: float = weights[first]
    high: float = weights[first + 1]
    return sa.lerp(low, high, t * t)
