import slangad as sa
from slangad import Each


@sa.kernel(dims=1, groupsize=64)
def k(x: Each[float]) -> Each[float]:
    return x
