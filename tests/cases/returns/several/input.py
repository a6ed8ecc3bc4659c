import slangad as sa
from slangad import Each, float3


@sa.differentiable
def pair(x: float, v: float3) -> tuple[float, float3]:
    return x * 2.0, v * x


@sa.differentiable
def nested(x: float, v: float3) -> tuple[float, int, float3]:
    a, b = pair(x, v)
    c = pair(a, b)
    return c[0], 1, c[1] + b


@sa.differentiable
def literal(x: float) -> tuple[float, float]:
    return 1, x if x > 0.0 else 0


@sa.differentiable
def forwards(x: float, v: float3) -> tuple[float, float3]:
    return pair(x, v)


@sa.kernel
def k(x: Each[float], v: Each[float3]) -> tuple[Each[float], Each[float3]]:
    a, n, b = nested(x, v)
    return a * n, b
