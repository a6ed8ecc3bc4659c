"""The module's docstring.

Of two paragraphs.
"""

import slangad as sa
from slangad import Each

# A comment at module level stays behind.


@sa.differentiable
def f(x: float) -> float:
    """One line of documentation.

    Args:
        x: where.
    """
    # First.
    # Second.
    y = x * 2.0  # trailing comments stay behind
    if y > 1.0:
        # In a branch.
        y = 1.0
    else:
        # In the other.
        y = 0.5
    for i in range(2):
        # In a loop.
        y += i

        # Before the last.
    #: With a colon.
    return y
    # After the end.


@sa.struct
class Ball:
    """A ball.

    Round.
    """

    # Of a field.
    radius: float

    def area(self) -> float:
        """Its area."""
        # In a method.
        return self.radius


@sa.kernel
def k(b: Each[Ball]) -> Each[float]:
    """A kernel's documentation."""
    # In a kernel: */ // " \ ünïcödé
    return f(b.area())
