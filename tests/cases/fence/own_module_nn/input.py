from types import ModuleType

import slangad as sa

nn = ModuleType("nn")


@sa.struct
class Pair:
    a: float
    b: float


nn.Pair = Pair


@sa.differentiable
def f(x: float) -> float:
    pair = nn.Pair(x, 2.0)
    return pair.a * pair.b
