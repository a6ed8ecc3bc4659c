"""Several lines

    of description, indented,
in a module.
"""

import slangad as sa
from slangad import Each


@sa.struct
class Pair:
    """Two numbers.

    Nothing else.
    """

    a: float
    b: float


@sa.differentiable
def add(p: Pair) -> float:
    """Adds.

    With a "quote" and a \\ in it.
    """
    # before
    total = p.a

    # between, with: a colon
    if total > 0.0:
        # inside
        total += p.b  # not carried over
    return total


@sa.kernel
def run(p: Each[Pair]) -> Each[float]:
    """One line."""
    return add(p)
