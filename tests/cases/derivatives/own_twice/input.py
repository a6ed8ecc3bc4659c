import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    return x


@f.backward
def f_bwd(x, d_out):
    return d_out


@f.backward
def f_bwd_2(x, d_out):
    return d_out
