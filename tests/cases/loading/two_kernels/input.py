import slangad as sa
from slangad import Each


@sa.kernel
def k(x: Each[float]) -> Each[float]:
    return x


first = k


@sa.kernel
def k(x: Each[float]) -> Each[float]:
    return x * 2.0
