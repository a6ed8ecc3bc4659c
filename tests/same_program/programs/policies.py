import slangad as sa
from slangad import Each


@sa.differentiable
def soft(x: float, k: float) -> float:
    return 1.0 / (1.0 + sa.exp(-k * x))


@sa.differentiable(derivative=sa.finite_difference(step=1e-3))
def opaque(x: float, k: float) -> float:
    return sa.floor(x * k) + x


@sa.differentiable(derivative=sa.finite_difference(step=0.01, relative=True))
def opaque_relative(x: float) -> float:
    return x * x


@sa.differentiable(derivative=sa.surrogate(soft))
def hard(x: float, k: float) -> float:
    return 1.0 if x * k > 0.0 else 0.0


@sa.differentiable(derivative=sa.straight_through())
def quantise(x: float) -> float:
    return sa.round(x * 8.0) / 8.0


@sa.differentiable(derivative=sa.clip_gradient(1e6))
def pole(x: float) -> float:
    return 1.0 / x


@sa.differentiable(derivative=sa.clip_gradient(norm=2.0, of=sa.finite_difference(step=1e-2)))
def pole_norm(x: float) -> float:
    return 1.0 / x


@sa.differentiable(derivative=sa.subgradient(at=0.0, value=0.5))
def relu(x: float) -> float:
    return max(x, 0.0)


@sa.differentiable(prefer="recompute")
def cheap(x: float) -> float:
    return sa.sin(x)


@sa.kernel
def all_of_them(x: Each[float], k: Each[float]) -> Each[float]:
    a = opaque(x, k) + opaque_relative(x) + hard(x, k)
    b = quantise(x) + pole(x) + pole_norm(k)
    return a + b + relu(x) + cheap(k)
