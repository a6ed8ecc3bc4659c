import slangad as sa
from slangad import Each, float3


@sa.struct
class Light:
    position: float3
    power: float = 2.0
    count: int = 1
    on: bool = True


@sa.differentiable
def falloff(l: Light, p: float3, scale: float = 0.5, up: float3 = float3(0.0, 1.0, 0.0)) -> float:
    d = sa.distance(l.position, p)
    side = sa.dot(p, up)
    return scale * l.power * l.count / (d * d + side * side + 1.0) if l.on else 0.0


@sa.kernel
def run(p: Each[float3]) -> Each[float]:
    near = Light(p * 0.5)
    far = Light(p * 2.0, count=3, power=1.0)
    return falloff(near, p) + falloff(far, p=p, scale=2.0)
