from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, NoDiff


def layer(number, size):
    @sa.struct
    class Layer:
        weights: Array[Annotated[float, number], size]
        scale: Annotated[Any, number]

        def row(self, x: Annotated[float, number]) -> Annotated[float, number]:
            return self.weights[0] * x + self.scale * self.weights[size - 1]

    return Layer


Small = Annotated[Any, layer(float, 2)]
Metres = Annotated[float, "a length"]


@sa.struct
class Pair:
    first: Small
    second: Annotated[Any, layer(sa.half, 2)]


@sa.kernel
def k(pair: Each[Pair], direct: Each[Small], x: NoDiff[Each[Metres]]) -> Each[Annotated[Any, float]]:
    y: Metres = pair.first.row(x) + direct.row(x)
    return y + float(pair.second.row(sa.half(x)))
