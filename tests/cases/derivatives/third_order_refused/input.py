import slangad as sa
from slangad import Each


@sa.differentiable
def wave(x: float) -> float:
    return sa.sin(x) * x


@sa.differentiable
def slope(x: float) -> float:
    return sa.fwd_diff(wave)(sa.diff_pair(x, 1.0)).d


@sa.differentiable
def curvature(x: float) -> float:
    return sa.fwd_diff(slope)(sa.diff_pair(x, 1.0)).d


@sa.differentiable
def cube(x: float) -> float:
    return x * x * x


@sa.differentiable
def bend(x: float) -> float:
    return sa.fwd_diff(incline)(sa.diff_pair(x, 1.0)).d


@sa.differentiable
def incline(x: float) -> float:
    return sa.fwd_diff(cube)(sa.diff_pair(x, 1.0)).d


@sa.function
def forwards(x: float) -> float:
    return sa.fwd_diff(curvature)(sa.diff_pair(x, 1.0)).d


@sa.function
def backwards(x: float) -> float:
    return sa.bwd_diff(bend)(x, 1.0)


@sa.function
def deeper(x: float) -> float:
    return forwards(x) + backwards(x)


@sa.kernel
def trained(x: Each[float]) -> Each[float]:
    y = bend(x) + 1.0
    return y * y


@sa.kernel
def cut(x: Each[float]) -> Each[float]:
    return x * sa.no_diff(bend(x))
