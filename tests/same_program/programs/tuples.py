import slangad as sa
from slangad import Each, float2


@sa.differentiable
def polar(v: float2) -> tuple[float, float]:
    return sa.length(v), sa.atan2(v.y, v.x)


@sa.kernel
def run(v: Each[float2], n: Each[int]) -> tuple[Each[float], Each[float2], Each[int]]:
    radius, angle = polar(v)
    both = polar(v * 2.0)
    return radius + both[1], float2(angle, both[0]), n + 1
