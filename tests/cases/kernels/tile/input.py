import slangad as sa
from slangad import Each


@sa.kernel(dims=2, group_size=(8, 8), tile=(16, 16))
def k(x: Each[float]) -> Each[float]:
    return x
