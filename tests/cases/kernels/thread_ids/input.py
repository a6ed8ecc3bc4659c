import slangad as sa
from slangad import Each


@sa.differentiable
def f(x: float) -> float:
    return x * sa.thread_id(0)


@sa.kernel
def one(x: Each[float], n: Each[int]) -> Each[float]:
    a = sa.thread_id(1)
    b = sa.thread_id(n)
    c = sa.thread_id(-1)
    d = sa.thread_count(2)
    e = sa.thread_id
    return x


@sa.kernel(dims=2)
def two(x: Each[float]) -> Each[float]:
    return x * sa.thread_id(2)
