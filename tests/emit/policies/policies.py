"""Policies whose derivative is not that of the function."""

import slangad as sa
from slangad import Each, float3


@sa.differentiable
def soft(y: float) -> float:
    return y * y * 3.0


@sa.differentiable(derivative=sa.surrogate(soft))
def hard(x: float) -> float:
    return 1.0 if x > 0.0 else 0.0


@sa.differentiable(derivative=sa.straight_through())
def quantized(v: float3, k: int) -> float3:
    return sa.floor(v * k) / k


@sa.differentiable(derivative=sa.subgradient(at=0.0, value=0.25))
def ramp(x: float) -> float:
    return max(x, 0.0)


@sa.differentiable(derivative=sa.clip_gradient(0.5))
def steep(v: float3, s: float) -> float:
    return sa.dot(v, float3(1.0, 10.0, -10.0)) * s


@sa.differentiable(derivative=sa.clip_gradient(norm=2.0))
def steep_norm(v: float3, s: float) -> float:
    return sa.dot(v, float3(3.0, 4.0, 0.0)) * s


@sa.differentiable(derivative=sa.clip_gradient(0.5, of=sa.surrogate(soft)))
def clipped_hard(x: float) -> float:
    return 1.0 if x > 0.0 else 0.0


@sa.differentiable(derivative=sa.finite_difference(step=0.25))
def stairs(x: float) -> float:
    return sa.floor(x)


@sa.kernel
def surrogate(x: Each[float]) -> Each[float]:
    return hard(x)


@sa.kernel
def straight(x: Each[float3]) -> Each[float3]:
    return quantized(x, 4)


@sa.kernel
def subgradient(x: Each[float]) -> Each[float]:
    return ramp(x)


@sa.kernel
def clipped(v: Each[float3], s: Each[float]) -> Each[float]:
    return steep(v, s)


@sa.kernel
def clipped_norm(v: Each[float3], s: Each[float]) -> Each[float]:
    return steep_norm(v, s)


@sa.kernel
def clipped_surrogate(x: Each[float]) -> Each[float]:
    return clipped_hard(x)


@sa.kernel
def finite(x: Each[float]) -> Each[float]:
    return stairs(x)
