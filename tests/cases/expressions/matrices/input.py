import slangad as sa
from slangad import float2, float2x2, float2x3, float3, float3x2


@sa.differentiable
def f(m: float2x3, n: float3x2, v: float3, w: float2, i: int) -> float:
    a = m @ v
    b = w @ m
    c = m @ n
    d = sa.mul(n, m)
    e = m * 2.0 + m / 2.0 - m
    g = m * m
    h = -m
    j = sa.transpose(m)
    k = sa.determinant(c)
    l = float2x2(1.0, 2.0, 3.0, 4.0)
    o = float2x2(w, w)
    p = float2x2(2.0)
    q = m[0] + m[i] + m[-1]
    s = m[0, 1] + m[i, 2] + m[i][1]
    t = m * w.x
    return a.x + b.y + c[0, 0] + d[2, 2] + e[0, 1] + g[1, 1] + h[0, 0] + j[2, 1] + k + l[0, 1] + o[1, 0] + p[1, 1] + q.x + s + t[0, 0]
