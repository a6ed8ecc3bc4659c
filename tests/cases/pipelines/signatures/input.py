import slangad as sa
from slangad import Each, Sum, Tensor


@sa.kernel
def k(x: Each[float]) -> Sum[float]:
    return x


@sa.pipeline
def places(x: float, y, z: Sum[float]) -> float:
    return k(x)


@sa.pipeline
def shapes(*x: Tensor[float, 1], y: Tensor[float, 1] = 1.0) -> Sum[float]:
    return k(y)
