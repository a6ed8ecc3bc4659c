import slangad as sa
from slangad import Each


@sa.function
def other(y: float) -> float:
    return y


@sa.function
def one(x: float, k: int) -> float:
    return x


@sa.function
def integer(x: int) -> int:
    return x


@sa.kernel
def named(a: Each[float]) -> Each[float]:
    x = a
    for k in sa.range(100, inverse=other):
        x = sa.sin(x)
    for k in sa.range(100, inverse=3):
        x = sa.sin(x)
    for k in sa.range(100, inverse=one, keep=4):
        x = sa.sin(x)
    for k in range(100, inverse=one):
        x = sa.sin(x)
    for k in sa.range(8, inverse=one, unroll=True):
        x = sa.sin(x)
    for k, y in zip(sa.range(8, inverse=one), range(8)):
        x = sa.sin(x)
    for k in sa.range(100, inverse=integer):
        x = sa.sin(x)
    return x
