import slangad as sa

SCALE = 0.5


@sa.struct
class Ball:
    radius: float


@sa.differentiable
def area(b: Ball) -> float:
    """The area."""
    # of a ball
    return b.radius * b.radius * SCALE


def plain(x: float) -> float:
    return x + SCALE


@sa.kernel
def not_this_one(x: sa.Each[float]) -> sa.Each[float]:
    return x
