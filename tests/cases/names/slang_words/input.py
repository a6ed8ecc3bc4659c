import slangad as sa
from slangad import Each


@sa.struct
class Texture2D:
    half: float
    groupshared: float
    out: float


@sa.struct
class interface:
    this: float


@sa.differentiable
def dot(float3: float, inout: float) -> float:
    return float3 * inout


@sa.differentiable
def discard(uniform: float, row_major: int) -> float:
    struct = uniform * row_major
    uint = struct + 1.0
    property = dot(uint, struct)
    for int2 in range(3):
        property += int2
    return property


@sa.kernel
def cbuffer(register: Each[float], namespace: Each[Texture2D], export: Each[interface]) -> Each[float]:
    typedef = discard(register, 2)
    return typedef * namespace.half + namespace.out * export.this
