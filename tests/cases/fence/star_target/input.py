import slangad as sa


@sa.differentiable
def f(v: sa.float3) -> float:
    a, *rest = v
    return a
