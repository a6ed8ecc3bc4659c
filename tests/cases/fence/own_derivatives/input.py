import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    return x * x


@f.backward
def f_bwd(x, d_out):
    with x:
        return 2.0 * x * d_out


@f.forward
def f_fwd(x):
    assert x.p > 0.0
    return x.p * x.p, 2.0 * x.p * x.d
