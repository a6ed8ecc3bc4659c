import slangad as sa


@sa.differentiable
def a(x: float) -> float:
    y = x


@sa.differentiable
def b(x: float) -> float:
    if x > 0.0:
        return x


@sa.differentiable
def c(x: float) -> float:
    for i in range(4):
        return x


@sa.differentiable
def d(x: float) -> float:
    while sa.max_iters(4):
        if x > 0.0:
            return x
        x += 1.0


@sa.differentiable
def e(x: float) -> float:
    pass


@sa.differentiable
def f(x: float) -> float:
    """Only a docstring."""


@sa.differentiable
def g(x: float) -> float:
    ...


@sa.differentiable
def h(x: float, n: int) -> float:
    for i in sa.range(n, max_iters=4):
        return x
    else:
        x = 2.0
