import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    import math
    from math import sin

    return sin(x) * math.pi
