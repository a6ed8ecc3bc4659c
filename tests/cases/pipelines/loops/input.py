import slangad as sa
from slangad import Each, Mean, Tensor, Uniform

STEPS = 2


@sa.kernel
def spread(x: Tensor[float, 1], rate: Uniform[float]) -> Each[float]:
    i = sa.thread_id()
    right: float = x[(i + 1) % sa.thread_count()]
    return x[i] + rate * (right - x[i])


@sa.kernel
def mean(x: Each[float]) -> Mean[float]:
    return x * x


@sa.pipeline
def in_loops(x: Tensor[float, 1]) -> Mean[float]:
    for k in range(STEPS):
        x = spread(x, k, domain=8)
        for k in range(5, 1, -2):
            x = spread(x, k, domain=8 + k)
    return mean(spread(x, k, domain=8))


@sa.pipeline
def written_out(x: Tensor[float, 1]) -> Mean[float]:
    x = spread(x, 0, domain=8)
    x = spread(x, 5, domain=8 + 5)
    x = spread(x, 3, domain=8 + 3)
    x = spread(x, 1, domain=8)
    x = spread(x, 5, domain=8 + 5)
    x = spread(x, 3, domain=8 + 3)
    return mean(spread(x, 3, domain=8))
