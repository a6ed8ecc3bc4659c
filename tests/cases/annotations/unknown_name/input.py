import slangad as sa
from slangad import float3


@sa.differentiable
def f(m: Materiel, v: float3) -> float:
    return v.x


class Material:
    pass
