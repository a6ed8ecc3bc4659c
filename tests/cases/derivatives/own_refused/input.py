import slangad as sa
from slangad import float3


@sa.differentiable
def f(x: float, v: float3) -> float:
    return v.x * x


@f.backward
def f_bwd(x, d_out):
    return d_out, d_out


@sa.differentiable
def g(x: float, y: float) -> float:
    return x * y


@g.backward
def g_bwd(x, y, d_out):
    return y * d_out


@g.forward
def g_fwd(x, y):
    return x.p * y.p


@sa.differentiable
def h(x: float, v: float3) -> float:
    return v.x * x


@h.backward
def h_bwd(x, v, d_out):
    return v, d_out


@h.forward
def h_fwd(x, v):
    return x * v.p.x, x.e


@sa.differentiable
def i(n: int) -> float:
    return 1.0


@i.backward
def i_bwd(n, d_out):
    return d_out


@sa.function
def j(x: float) -> float:
    return x


@j.backward
def j_bwd(x, d_out):
    return d_out


@sa.differentiable(derivative=sa.straight_through())
def l(x: float) -> float:
    return x


@l.backward
def l_bwd(x, d_out):
    return d_out


@sa.differentiable
def m(x: float) -> float:
    return x


@m.backward
def m_bwd(x, d_out):
    y = x


@sa.differentiable
def whole(x: float) -> int:
    return int(x)


@whole.backward
def whole_bwd(x, d_out):
    return d_out


@whole.forward
def whole_fwd(x):
    return 1, 1
