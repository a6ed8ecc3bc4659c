import math

import slangad as sa
from slangad import Each, float3


@sa.differentiable
def functions(x: float, v: float3) -> float:
    a = math.sin(x) * math.pi + math.floor(x) + sa.floor(x)
    b = max(x, 0.5, v.x) + min(v.y, v.z) + abs(x) + pow(x, 3)
    c = sum(v) if any(v > 0.0) and all(v < 9.0) else math.sqrt(abs(x))
    return a + b + c + round(x) + sa.round(x) + math.tau


@sa.kernel
def run(x: Each[float], v: Each[float3]) -> Each[float]:
    return functions(x, v)
