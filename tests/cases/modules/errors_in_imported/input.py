import lib

import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    return lib.broken(x) + lib.missing(x) + lib.inner.thing
