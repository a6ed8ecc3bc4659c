"""Springs between particles: many springs share a particle, whose gradient is the sum of what they all say."""

import slangad as sa
from slangad import Each, NoDiff, OutTensor, Param, Sum, Tensor, Uniform, float2


@sa.struct
class Material:
    """What all springs are made of."""

    stiffness: float
    stretch: float


@sa.differentiable
def energy(a: float2, b: float2, rest: float, m: Material) -> float:
    """The energy of one spring."""
    extension = sa.length(b - a) - rest * m.stretch
    return 0.5 * m.stiffness * extension * extension


@sa.kernel
def potential(
    first: Each[int], second: Each[int], rest: NoDiff[Each[float]], positions: Tensor[float2, 1], m: Param[Material]
) -> Sum[float]:
    """The energy of all springs; its gradient is the force on each particle, turned round."""
    return energy(positions[first], positions[second], rest, m)


@sa.kernel
def advance(
    positions: Tensor[float2, 1], velocities: Tensor[float2, 1], dt: Uniform[float], moved: OutTensor[float2, 1]
) -> None:
    """Particles a little later; what leaves the floor below bounces back."""
    i = sa.thread_id()
    p = positions[i] + dt * velocities[i]
    if p.y < 0.0:
        p = float2(p.x, -p.y)
    moved[i] = p
