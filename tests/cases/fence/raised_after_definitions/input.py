"""A statement that raises ends the file; what the definitions before it raised comes with it."""

import slangad as sa
from slangad import Each


@sa.kernel
def wrong(x: Each[flaot]) -> Each[float]:  # noqa: F821
    return x


SCALE = sa.optimise("adam")


@sa.kernel
def not_reached(x: Each[float]) -> Each[float]:
    return x
