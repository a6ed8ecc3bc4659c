"""Policies and own derivatives of methods."""

import slangad as sa
from slangad import Each, float3


@sa.struct
class Lobe:
    color: float3
    power: float
    kind: int

    @sa.differentiable(derivative=sa.finite_difference(step=1e-2))
    def fd(self, x: float) -> float:
        return self.power * x + self.color.y * x

    @sa.differentiable(derivative=sa.clip_gradient(1e6))
    def clip(self, x: float) -> float3:
        return self.color * (x * self.power)

    @staticmethod
    @sa.differentiable(derivative=sa.clip_gradient(norm=1e6))
    def flat(x: float) -> float:
        return x * x

    @sa.differentiable
    def own(self, x: float) -> float:
        return self.power * x


@Lobe.own.forward
def own_fwd(self, x):
    return self.p.power * x.p, self.d.power * x.p + self.p.power * x.d


@sa.kernel
def methods(lobe: Each[Lobe], x: Each[float]) -> Each[float3]:
    return lobe.clip(x) + lobe.fd(x) * Lobe.flat(x) + lobe.own(x)


@sa.kernel
def inner(lobe: Each[Lobe], x: Each[float]) -> Each[float]:
    slope = sa.bwd_diff(Lobe.flat)(x, x)
    pair = sa.fwd_diff(Lobe.own)(sa.diff_pair(lobe, lobe), sa.diff_pair(x, 1.0))
    return pair.d * slope + x
