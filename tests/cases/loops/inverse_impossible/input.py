import slangad as sa
from slangad import Each, OutTensor


@sa.function
def one(x: float, k: int) -> float:
    return x


@sa.function
def counter(k: int) -> float:
    return 1.0 * k


@sa.kernel
def incomplete(a: Each[float]) -> Each[float]:
    x = a
    y = a
    for k in sa.range(100, inverse=one):
        x = sa.sin(x + y)
        y = sa.cos(y * x)
    return x


@sa.kernel
def unchanged(a: Each[float]) -> Each[float]:
    x = a
    for k in sa.range(100, inverse=counter):
        x = sa.sin(x)
    return x


@sa.kernel
def stores(a: Each[float], out: OutTensor[float, 1]) -> Each[float]:
    x = a
    for k in sa.range(100, inverse=one):
        x = sa.sin(x)
        out[sa.thread_id()] = x
    return x


@sa.kernel
def moved(a: Each[float]) -> Each[float]:
    x = a
    for k in sa.range(100, inverse=one):
        k += 1
        x = sa.sin(x * k)
    return x
