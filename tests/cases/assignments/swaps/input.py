import slangad as sa
from slangad import Array, float3


@sa.differentiable
def swap(x: float, y: float) -> float:
    x, y = y, x
    return x - y


@sa.differentiable
def rotate(x: float, y: float, z: float) -> float:
    x, y, z = y, z, x
    return x + 2.0 * y + 3.0 * z


@sa.differentiable
def fibonacci(x: float) -> float:
    a, b = 0.0, x
    for i in range(5):
        a, b = b, a + b
    return a


@sa.differentiable
def entries(a: Array[float, 3]) -> float:
    b = sa.copy(a)
    b[0], b[2] = b[2], b[0]
    i = 0
    i, b[i] = 1, 5.0
    return b[0] + 2.0 * b[1] + 3.0 * b[2]


@sa.differentiable
def swizzled(v: float3) -> float:
    w = sa.copy(v)
    w.x, w.y = w.y, w.x
    w.xz = w.zx
    x, y, z = w
    (x, y), [p, q] = (y, x), (x, y)
    return x + 2.0 * y + 3.0 * z + p * q


@sa.differentiable
def results(x: float) -> float:
    a, b = two(x)
    c = two(b)
    d, e = c
    return a + b * d - e * c[0]


@sa.differentiable
def two(x: float) -> tuple[float, float]:
    return x * 2.0, x * x
