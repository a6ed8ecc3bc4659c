import slangad as sa
from slangad import Each


@sa.differentiable
def step(x: float) -> float:
    for k in sa.range(100, inverse=step):
        x = sa.sin(x)
    return x


@sa.kernel
def march(x: Each[float]) -> Each[float]:
    return step(x)
