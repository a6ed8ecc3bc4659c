import slangad as sa
from slangad import Each


@sa.kernel(dims=4)
def k(x: Each[float]) -> Each[float]:
    return x
