import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    a = "text"
    b = b"bytes"
    c = 2j
    d = None
    e = ...
    return x["y"]
