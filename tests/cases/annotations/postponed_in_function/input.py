from __future__ import annotations

import slangad as sa


@sa.differentiable
def f(m: Materiel, n: sa.flaot3, k: flaot) -> Vector:
    y: Undefined = 0.0
    return y
