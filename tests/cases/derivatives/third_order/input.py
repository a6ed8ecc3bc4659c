import slangad as sa
from slangad import Each, NoDiff


@sa.differentiable
def cube(x: float) -> float:
    return x * x * x


@sa.differentiable
def slope(x: float) -> float:
    return sa.fwd_diff(cube)(sa.diff_pair(x, 1.0)).d


@sa.function
def curvature(x: float) -> float:
    return sa.fwd_diff(slope)(sa.diff_pair(x, 1.0)).d


@sa.kernel
def of_a_constant(x: NoDiff[Each[float]], k: Each[float]) -> Each[float]:
    return sa.no_diff(curvature(x)) * k


@sa.kernel
def cut(x: Each[float]) -> Each[float]:
    return sa.no_diff(curvature(x)) * x
