"""Values of structs with ``__call__`` are called: parameters, fields, entries of arrays, results."""

import slangad as sa
from slangad import Array


@sa.struct(initial={"slope": (-0.5, 0.5), "offset": (0.0, 0.0)})
class Line:
    slope: float
    offset: float

    def __call__(self, x: float) -> float:
        return self.slope * x + self.offset


@sa.struct(initial={"first.slope": (1.0, 1.0)})
class Bend:
    first: Line
    rest: Array[Line, 2]

    @sa.differentiable(prefer="recompute")
    def __call__(self, x: float, k: int = 1) -> float:
        y = self.first(x)
        return self.rest[k](y)


@sa.differentiable
def bent(bend: Bend, x: float) -> float:
    return bend(x) + bend(x, k=0)
