import slangad as sa
from slangad import InOutTensor, OutTensor, Sum, Tensor, Texture2D


@sa.kernel
def whole(w: Tensor[float, 2], v: InOutTensor[float, 1], t: Texture2D[float], out: OutTensor[float, 1]) -> Sum[float]:
    a = w
    b = t
    c = w + 1.0
    d = w if w[0, 0] > 0.0 else w
    e = sa.copy(v)
    f = sa.no_diff(w)
    g = out
    h = sa.sin(w)
    for i in w:
        a = i
    for i in range(w.shape[0]):
        a = i
    return w


@sa.function
def local(x: float) -> float:
    y: Tensor[float, 1] = x
    return y
