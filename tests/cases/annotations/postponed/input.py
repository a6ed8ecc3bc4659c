from __future__ import annotations

import slangad as sa
from slangad import Each, NoDiff, float3


@sa.differentiable
def f(m: Material, k: NoDiff[float]) -> float:
    return m.roughness * k


@sa.struct
class Material:
    albedo: float3
    roughness: float

    def twice(self) -> Material:
        return Material(self.albedo * 2.0, self.roughness)


def make(n):
    @sa.struct
    class Table:
        values: sa.Array[float, n]

    @sa.differentiable
    def total(t: Table) -> float:
        s = 0.0
        for v in t.values:
            s += v
        return s

    return total


total3 = make(3)


@sa.kernel
def k(m: Each[Material], x: NoDiff[Each[float]]) -> Each[float]:
    return f(m, x)
