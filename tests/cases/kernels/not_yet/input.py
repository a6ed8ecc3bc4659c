import slangad as sa
from slangad import Each, Sum, Tensor


@sa.kernel
def k(x: Each[float]) -> Sum[float]:
    return x


@sa.pipeline
def p(x: Tensor[float, 1]) -> Sum[float]:
    return k(x)
