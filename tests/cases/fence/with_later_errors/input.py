"""Errors of syntax and of meaning come at once; within one definition, the syntax comes first."""

import slangad as sa
from slangad import Each


@sa.differentiable
def refused(x: float) -> float:
    y = [x for _ in range(3)]
    return unknown_in_here(y)  # noqa: F821


@sa.kernel
def wrong(x: Each[float]) -> Each[float]:
    return unknown(x)  # noqa: F821
