import slangad as sa
from slangad import Each, InOutTensor, Mean, OutTensor, Param, Sum, Tensor, Texture2D


@sa.kernel
def k(
    a: Param[float], b: Tensor[float, 2], c: OutTensor[float, 1], d: InOutTensor[float, 1], e: Texture2D[float]
) -> Sum[float]:
    return a


@sa.kernel
def m(x: Each[float]) -> Mean[float]:
    return x


@sa.pipeline
def p(x: Tensor[float, 1]) -> Sum[float]:
    return k(x)
