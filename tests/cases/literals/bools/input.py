import slangad as sa

FLAG = True


@sa.differentiable
def f(x: float, b: bool) -> float:
    c = True
    d = b and c or not FLAG
    e = b == c
    g = b != (x > 0.0)
    if FLAG:
        x = -x
    if FLAG and b:
        x = 2.0 * x
    y = float(b) + int(c) + float(x > 1.0)
    h = bool(x) and bool(3)
    return y if d or e or g or h else x
