"""An operation with both derivatives of its own: forward and backward share no code, and the check compares them."""

import slangad as sa
from slangad import DiffPair, float3


@sa.differentiable(ranges={"v": (0.2, 2.0)})
def unit(v: float3) -> float3:
    """v scaled to length 1."""
    return v / sa.sqrt(sa.dot(v, v))


@unit.forward
def unit_fwd(v: DiffPair[float3]) -> tuple[float3, float3]:
    inverse = 1.0 / sa.sqrt(sa.dot(v.p, v.p))
    direction = v.p * inverse
    change = v.d * inverse
    return direction, change - direction * sa.dot(direction, change)


@unit.backward
def unit_bwd(v: float3, d_out: float3) -> float3:
    inverse = 1.0 / sa.sqrt(sa.dot(v, v))
    direction = v * inverse
    return (d_out - direction * sa.dot(direction, d_out)) * inverse
