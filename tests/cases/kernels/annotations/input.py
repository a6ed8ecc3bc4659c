import slangad as sa
from slangad import Each, Param, Sum, Tensor, Uniform, float3


@sa.kernel
def bare(x: float) -> Each[float]:
    return x


@sa.kernel
def bare_result(x: Each[float]) -> float:
    return x


@sa.kernel
def nothing(x: Each[float]) -> None:
    y = x


@sa.kernel
def no_result(x: Each[float]):
    return x


@sa.kernel
def twice(x: Each[float], y: Uniform) -> tuple[Each[float], float]:
    return x, x


@sa.kernel
def result_of_uniform(x: Each[float]) -> Uniform[float]:
    return x


@sa.kernel
def tuples(x: Each[tuple[float, float]]) -> Each[float]:
    return x[0]
