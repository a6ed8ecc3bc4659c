import slangad as sa
from slangad import Each


class Plain:
    pass


@sa.struct
class A:
    x: list
    y: Each[float]
    z: Plain
    w: str
    v: tuple[float, float]


@sa.struct
class B:
    a: A


@sa.differentiable
def f(a: A, b: B) -> float:
    return a.x
