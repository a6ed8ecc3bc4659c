import slangad as sa
from slangad import Each, NoDiff, Sum, Tensor, Texture2D, float2


@sa.function
def first(w: Tensor[float, 1]) -> float:
    return w[0]


@sa.function
def middle(t: Texture2D[float]) -> float:
    return t.sample(float2(0.5))


@sa.kernel
def k(w: Tensor[float, 1], t: Texture2D[float], x: Each[float]) -> Sum[float]:
    return first(w) * x + middle(t) + sa.no_diff(first(w))


@sa.kernel
def fine(w: NoDiff[Tensor[float, 1]], x: Each[float]) -> Sum[float]:
    return first(w) * x
