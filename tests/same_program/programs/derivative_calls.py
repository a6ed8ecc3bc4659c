import slangad as sa
from slangad import Each, NoDiff, float3


@sa.differentiable
def density(p: float3, k: NoDiff[float]) -> float:
    return sa.exp(-sa.dot(p, p) * k)


@sa.function
def normal(p: float3) -> float3:
    return sa.normalize(sa.bwd_diff(density)(p, 0.5, 1.0))


@sa.function
def slope(p: float3, direction: float3) -> float:
    pair = sa.fwd_diff(density)(sa.diff_pair(p, direction), 0.5)
    return pair.d / pair.p


@sa.kernel
def run(p: Each[float3]) -> Each[float]:
    still = sa.no_diff(normal(p))
    return density(p, 1.0) * sa.dot(p, still) + sa.no_diff(slope(p, still))
