import slangad as sa


def make(k):
    @sa.differentiable
    def f(x: float) -> float:
        nonlocal k
        k = 1.0
        return x * k

    return f


f = make(2.0)
