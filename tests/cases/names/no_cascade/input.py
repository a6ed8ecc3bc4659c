import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y = unknown(x)
    z = y * 2.0
    v = sa.float3(z)
    v.x = y
    w = v.q
    for i in range(3):
        z += y
    if y > 0.0:
        return w
    return z + sa.dot(v, v) * missing
