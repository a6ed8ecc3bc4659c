import slangad as sa
import lib


@sa.differentiable
def f(x: float) -> float:
    return x * lib.SIZE
