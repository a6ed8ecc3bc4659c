import slangad as sa
from slangad import float3


@sa.differentiable
def a(x: float) -> float3:
    return x


@sa.differentiable
def b(v: float3) -> float:
    return v


@sa.differentiable
def c(x: float) -> float:
    return


@sa.function
def d(x: float) -> int:
    return x


@sa.differentiable
def e(x: float) -> tuple[float, float]:
    return x


@sa.differentiable
def f(x: float) -> tuple[float, float]:
    return x, x, x


@sa.differentiable
def g(x: float, v: float3) -> tuple[float, float]:
    return x, v


@sa.differentiable
def h(x: float) -> float:
    return x, x


@sa.differentiable
def i(x: float) -> bool:
    return x


@sa.differentiable
def j(x: float) -> None:
    return x


@sa.differentiable
def k(x: float) -> None:
    y = x
