import slangad as sa
from slangad import Each, Tensor


@sa.function
def turned_back(x: float, y: float, k: int, angles: Tensor[float, 1]) -> tuple[float, float]:
    """The point before a turn."""
    c = sa.cos(angles[k])
    s = sa.sin(angles[k])
    return c * x + s * y, c * y - s * x


@sa.kernel
def turn(start: Each[float], angles: Tensor[float, 1]) -> Each[float]:
    x = start
    y = 0.5
    area = 0.0
    for k in sa.range(angles.shape[0], max_iters=512, inverse=turned_back):
        c = sa.cos(angles[k])
        s = sa.sin(angles[k])
        before = x
        x = c * x - s * y
        y = s * before + c * y
        area += x * y
    return area


@sa.function
def rooted(s: float) -> float:
    return sa.sqrt(s)


@sa.kernel
def squared(x: Each[float]) -> Each[float]:
    s = x
    for k in sa.range(4, inverse=rooted):
        s = s * s
    return s


@sa.kernel
def plain(x: Each[int]) -> Each[int]:
    """Nothing is differentiated, and the inverse is not called."""
    s = x
    for k in sa.range(4, inverse=halved):
        s = s * 2
    return s


@sa.function
def halved(s: int) -> int:
    return s // 2
