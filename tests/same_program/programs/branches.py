import slangad as sa
from slangad import Each


@sa.differentiable
def pieces(x: float, y: float) -> float:
    if x < -1.0 or not y < 4.0:
        return -x
    elif -1.0 <= x <= 0.0:
        scaled = 2.0 * y
    else:
        scaled = y * y if y > 0.5 else y - 0.25
    inside = x > 0.2 and y != 0.0
    return scaled * x if inside else scaled


@sa.kernel
def run(x: Each[float], y: Each[float]) -> Each[float]:
    return pieces(x, y)
