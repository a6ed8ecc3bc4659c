import slangad as sa
from slangad import float3


@sa.differentiable
def soft(x: float, y: float) -> float:
    return x * y


@sa.differentiable(derivative=sa.surrogate(soft))
def a(x: float) -> float:
    return x


@sa.differentiable(derivative=sa.surrogate(max))
def b(x: float) -> float:
    return x


@sa.differentiable(derivative=sa.straight_through())
def c(x: float, y: float) -> float:
    return x


@sa.differentiable(derivative=sa.straight_through())
def d(x: float) -> float3:
    return float3(x)


@sa.differentiable(derivative=sa.subgradient(at=0.0, value=1.0))
def e(v: float3) -> float:
    return v.x


@sa.differentiable(derivative=sa.finite_difference(step=1e-3))
def f(n: int) -> float:
    return 1.0


@sa.differentiable(derivative=sa.clip_gradient(1.0, of=sa.surrogate(soft)))
def g(x: float) -> float:
    return x


@sa.differentiable(derivative=sa.finite_difference(step=1e-3))
def whole(x: float) -> int:
    return int(x)
