import slangad as sa
from slangad import Each, NoDiff, float2


@sa.differentiable(derivative=sa.finite_difference(step=1e-3))
def opaque(x: float, v: float2, k: NoDiff[float], n: int) -> float:
    return sa.floor(x * 10.0) * v.x * k * n


@sa.differentiable(derivative=sa.finite_difference(step=1e-3, relative=True))
def relative(x: float) -> float:
    return x * x


@sa.differentiable
def soft(y: float) -> float:
    return 1.0 / (1.0 + sa.exp(-y))


@sa.differentiable(derivative=sa.surrogate(soft))
def hard(x: float) -> float:
    return 1.0 if x > 0.0 else 0.0


@sa.differentiable(derivative=sa.straight_through())
def quantized(x: float) -> float:
    return sa.round(x * 8.0) / 8.0


@sa.differentiable(derivative=sa.clip_gradient(10.0))
def clipped(x: float) -> float:
    return 1.0 / x


@sa.differentiable(derivative=sa.clip_gradient(norm=2.0))
def normed(v: float2, s: float) -> float2:
    return v * s * 100.0


@sa.differentiable(derivative=sa.clip_gradient(1e6, of=sa.finite_difference(step=1e-2)))
def both(x: float) -> float:
    return sa.floor(x)


@sa.differentiable(derivative=sa.subgradient(at=0.0, value=0.5))
def kinked(x: float) -> float:
    return max(x, 0.0)


@sa.differentiable(prefer="recompute", ranges={"x": (-1.0, 1.0)})
def recomputed(x: float) -> float:
    return x * x


@sa.differentiable(prefer="checkpoint")
def kept(x: float) -> float:
    return x * x


@sa.kernel
def k(x: Each[float], v: Each[float2]) -> Each[float]:
    a = opaque(x, v, 2.0, 3) + relative(x) + hard(x) + quantized(x) + clipped(x)
    return a + normed(v, x).x + both(x) + kinked(x) + recomputed(x) + kept(x)
