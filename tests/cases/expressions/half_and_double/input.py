import slangad as sa
from slangad import double3, half2, half3


@sa.differentiable
def f(h: sa.half, d: sa.double, x: float, v: half3, w: double3) -> float:
    a = h * 0.5 + 1
    b = d * 0.5 + 1
    c = sa.half(x) * h
    e = sa.double(x) * d
    g = v * 2 + 0.25
    i = w * 2 + 0.25
    j = max(h, 0.5)
    k = sa.sin(d) + sa.lerp(d, 0.0, 0.5)
    l = h if h > 0.5 else 0.5
    m = half2(h, 0.5)
    n = sa.dot(v, v) + m.x
    return float(a) + float(b) + float(c) + float(e) + float(g.x) + float(i.y) + float(j) + float(k) + float(l) + float(n)
