import slangad as sa
from slangad import float3


@sa.function
def plain(x: float) -> float:
    return x


@sa.differentiable
def g(x: float, v: float3) -> float:
    return v.x * x


@sa.differentiable
def integer(n: int) -> float:
    return 1.0


@sa.differentiable
def f(x: float, v: float3) -> float:
    a = sa.bwd_diff(plain)(x, 1.0)
    b = sa.bwd_diff(g)(x, v)
    c = sa.bwd_diff(g)(x, v, v)
    d = sa.bwd_diff(g)
    e = sa.fwd_diff(g)(x, v)
    h = sa.fwd_diff(g)(sa.diff_pair(x, 1.0))
    i = sa.bwd_diff(integer)(1, 1.0)
    j = sa.bwd_diff(max)(x, x, 1.0)
    k = sa.bwd_diff(x)(x)
    l = sa.diff_pair(x)
    m = sa.diff_pair(x, v)
    n = sa.diff_pair(1, 2)
    o = sa.no_diff()
    p = sa.no_diff(x, v)
    q = g(x, v)(x)
    r = sa.diff_pair(x, x)
    r.p = 1.0
    s = r + 1.0
    return x
