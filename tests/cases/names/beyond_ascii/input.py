import slangad as sa
from slangad import Each


@sa.struct
class Größe:
    höhe: float
    ширина: float


@sa.differentiable
def lumière(α: float, größe: Größe) -> float:
    β = α * größe.höhe  # ß
    été = β + größe.ширина
    return été * α


@sa.kernel
def 核(α: Each[float], größe: Each[Größe]) -> Each[float]:
    return lumière(α, größe)
