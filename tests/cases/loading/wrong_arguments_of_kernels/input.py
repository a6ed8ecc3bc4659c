import slangad as sa
from slangad import Each


@sa.kernel(
    dims=2,
    group_size=(8, "a"),
)
def k(x: Each[float]) -> Each[float]:
    return x
