import slangad as sa
from slangad import Each

Δt = 0.1
kernel = 2.0


@sa.struct
class interface:
    out: float
    größe: float


@sa.differentiable
def lerp(σ: float, inout: float) -> float:
    """A name the language has too: here it is this one."""
    struct = σ * Δt
    return struct + inout * kernel


@sa.differentiable
def discard(s: interface) -> float:
    return lerp(s.out, s.größe) + sa.lerp(s.out, 1.0, 0.5)


@sa.kernel
def main(this: Each[interface]) -> Each[float]:
    return discard(this)
