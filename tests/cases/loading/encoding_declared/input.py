# -*- coding: latin-1 -*-
import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    straße = x
    return straße * größe
