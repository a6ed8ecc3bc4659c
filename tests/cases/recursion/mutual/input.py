import slangad as sa


@sa.struct
class Ball:
    radius: float

    def area(self) -> float:
        return outer(self)


@sa.differentiable
def f(x: float) -> float:
    return g(x)


@sa.differentiable
def g(x: float) -> float:
    return h(x) + 1.0


@sa.differentiable
def h(x: float) -> float:
    return f(x)


@sa.differentiable
def outer(b: Ball) -> float:
    return b.area()
