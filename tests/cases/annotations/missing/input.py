import slangad as sa


@sa.differentiable
def f(x, y: float):
    return x * y


@sa.differentiable
def g(x: float):
    return x


def helper(x, y):
    return x * y


@sa.struct
class Ball:
    radius: float

    def scaled(self, k):
        return self.radius * k


@sa.kernel
def k(x: sa.Each[float], y):
    return x


@sa.differentiable
def h(x: float) -> float:
    return helper(x, x)
