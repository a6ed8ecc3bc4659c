import slangad as sa
from slangad import Each, Mean, Sum, Tensor


@sa.kernel
def k(x: Each[float]) -> Sum[float]:
    return x


@sa.pipeline
def other(x: Tensor[float, 1]) -> Mean[float]:
    return k(x)


@sa.pipeline
def too_many(x: Tensor[float, 1]) -> Sum[float]:
    return k(x), k(x)


@sa.pipeline
def nothing(x: Tensor[float, 1]) -> Sum[float]:
    k(x)


@sa.pipeline
def parameter(x: Each[float]) -> Each[float]:
    return x


@sa.pipeline
def undeclared(x: Tensor[float, 1]):
    return k(x)
