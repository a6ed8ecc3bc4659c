import slangad as sa
from slangad import float3


@sa.differentiable
def three(x: float) -> tuple[float, float3, int]:
    return x, float3(x), 3


@sa.differentiable
def thrown_away(x: float, v: float3) -> float:
    a, _, _ = three(x)
    _, b, _ = three(a)
    _, _, c = v
    (_, d), _ = (a, b), v
    return a + b.x + c + d.y


@sa.differentiable
def read(x: float) -> float:
    _, b, _ = three(x)
    return b.x + _


@sa.differentiable
def updated(v: float3) -> float:
    _, b, _ = v
    _ += 1.0
    return b
