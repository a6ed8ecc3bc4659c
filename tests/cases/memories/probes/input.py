import slangad as sa
from slangad import Each


@sa.struct
class Pair:
    a: float
    b: float


@sa.kernel
def wrong(x: Each[float], n: Each[int]) -> Each[float]:
    a = sa.probe("n", n)
    b = sa.probe(x, x)
    c = sa.probe("two words", x)
    d = sa.probe("e")
    e = sa.probe("f", Pair(x, x))
    f = sa.probe("g", x > 0.0)
    return x
