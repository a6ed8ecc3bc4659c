import slangad as sa
from slangad import NoDiff


@sa.struct
class Lens:
    width: float

    def bend(self: "NoDiff[Lens]", x: float) -> float:
        return self.width * x


@sa.differentiable
def f(lens: Lens, x: float) -> float:
    return lens.bend(x)
