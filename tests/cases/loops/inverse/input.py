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
def halved_less(s: float) -> float:
    return 0.5 * s - 0.5


@sa.kernel
def doubled(x: Each[float]) -> Each[float]:
    """A state of one number, and a loop for which Slang would keep little."""
    s = x
    total = 0.0
    for k in sa.range(4, inverse=halved_less):
        total += s * s
        s = 2.0 * s + 1.0
    return total


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


@sa.function
def divided(x: float, scale: float) -> float:
    return scale * x


@sa.differentiable
def shrunk(x: float, w: float) -> float:
    """Nested loops in a helper, a local that only the inverse reads, and a loop that ends early."""
    scale = 1.0 / (1.0 + w * w)
    for j in range(3):
        for k in sa.range(100, inverse=divided):
            x = (1.0 + w * w) * x
            if x > 4.0:
                break
        x = x + 0.25
    return x


@sa.kernel
def backwards(x: Each[float], y: Each[float], angles: Tensor[float, 1]) -> Each[float]:
    for k in reversed(sa.range(7, inverse=turned_back)):
        c = sa.cos(angles[k])
        s = sa.sin(angles[k])
        before = x
        x = c * x - s * y
        y = s * before + c * y
    return shrunk(x, 0.1 * y)
