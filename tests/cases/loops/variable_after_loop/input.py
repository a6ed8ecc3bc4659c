import slangad as sa
from slangad import Array


@sa.differentiable
def last(x: float) -> float:
    for i in range(4):
        x += i
    return x * i


@sa.differentiable
def after_break(x: float, n: int) -> float:
    i = 0
    for i in sa.range(n, max_iters=8):
        if x > 3.0:
            break
        x += i
    return x * i


@sa.differentiable
def changed_inside(x: float) -> float:
    for i in range(4):
        x += i
        i = i * 2
        x += i
    return x + i


@sa.differentiable
def bound_changed(x: float, n: int) -> float:
    for i in sa.range(n, max_iters=8):
        n = n + 1
        x += i
    return x + n


@sa.differentiable
def value_changed(x: float, a: Array[float, 3], b: Array[float, 3]) -> float:
    for v in a:
        a = b
        x += v
    return x + a[0]


@sa.differentiable
def element_after(a: Array[float, 3]) -> float:
    for v in a:
        pass
    return v
