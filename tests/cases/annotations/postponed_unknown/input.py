from __future__ import annotations

import slangad as sa


@sa.differentiable
def f(m: Materiel, n: sa.flaot3, k: flaot) -> Vector:
    y: Undefined = 0.0
    return y


@sa.struct
class Material:
    albedo: Unknown
    roughness: sa.float5


@sa.differentiable
def g(m: Material) -> float:
    return m.roughness
