import slangad as sa
from slangad import Each, Sum, Tensor


@sa.differentiable
def f(x: float) -> float:
    return x


@sa.kernel
def k(x: Each[float]) -> Sum[float]:
    return f(x)


@sa.kernel
def two(x: Each[float]) -> tuple[Each[float], Each[float]]:
    return x, x


@sa.pipeline
def arithmetic(x: Tensor[float, 1]) -> Sum[float]:
    y = k(x) + 1.0
    return y


@sa.pipeline
def branches(x: Tensor[float, 1]) -> Sum[float]:
    if x.shape[0] > 3:
        return k(x)
    return k(x)


@sa.pipeline
def loops(x: Tensor[float, 1]) -> Sum[float]:
    for i in range(x.shape[0]):
        y = k(x)
    return y


@sa.pipeline
def iterations(x: Tensor[float, 1]) -> Sum[float]:
    for i in range(1.5):
        k(x)
    for i in range(0, 4, 0):
        k(x)
    for i in range(3):
        k(lost)
        return k(x)
    for i in range(3):
        k(x)
    else:
        k(x)
    for i in (1, 2):
        k(x)
    for i in range(2000):
        k(x)
    return k(x)


@sa.pipeline
def no_kernels(x: Tensor[float, 1]) -> Sum[float]:
    y = f(x)
    z = lost(x)
    return k(z)


@sa.pipeline
def targets(x: Tensor[float, 1]) -> Sum[float]:
    x.y = k(x)
    a, b, c = two(x)
    return k(two(x))


@sa.pipeline
def late(x: Tensor[float, 1]) -> Sum[float]:
    return k(x)
    k(x)


@sa.pipeline
def added(x: Tensor[float, 1]) -> Sum[float]:
    return k(x) + k(x)
