"""A loop that only adds: reverse mode keeps nothing of its 1000 iterations, and does not run them backwards."""

import slangad as sa
from slangad import Each


@sa.kernel(ranges={"x": (0.0, 1.0)})
def series(x: Each[float]) -> Each[float]:
    """A sum of many waves."""
    total = 0.0
    for k in range(1000):
        total += sa.sin(x * (k + 1)) / (k + 1) ** 2
    return total
