import slangad as sa
from slangad import Each, InOutTensor, Sum, Tensor, Texture2D, float2


@sa.differentiable
def first(w: Tensor[float, 2]) -> float:
    return w[0, 0]


@sa.differentiable
def texel(t: Texture2D[float]) -> float:
    return t.sample(float2(0.5))


@sa.kernel
def k(
    w: Tensor[float, 2], v: Tensor[float, 1], u: InOutTensor[float, 2], t: Texture2D[float, "repeat"], x: Each[float]
) -> Sum[float]:
    a = first(w)
    b = first(v)
    c = first(u)
    d = first(x)
    e = first(t)
    f = texel(t)
    g = sa.sin(v)
    return a
