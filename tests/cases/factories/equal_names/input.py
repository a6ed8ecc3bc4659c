import slangad as sa


def first():
    @sa.struct
    class Point:
        x: float

    @sa.differentiable
    def norm(p: Point) -> float:
        return p.x * p.x

    return Point, norm


def second():
    @sa.struct
    class Point:
        x: float
        y: float

    @sa.differentiable
    def norm(p: Point) -> float:
        return p.x * p.x + p.y * p.y

    return Point, norm


P, norm_p = first()
Q, norm_q = second()


@sa.differentiable
def f(x: float) -> float:
    return norm_p(P(x)) + norm_q(Q(x, 2.0 * x))
