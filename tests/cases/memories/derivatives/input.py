import slangad as sa
from slangad import Each, Sum, Tensor, Texture2D, float2


@sa.differentiable
def plain(w: Tensor[float, 1], x: float) -> float:
    return w[0] * x


@sa.differentiable(derivative=sa.clip_gradient(1.0))
def clipped(w: Tensor[float, 1], x: float) -> float:
    return w[0] * x


@sa.differentiable
def own(t: Texture2D[float], x: float) -> float:
    return t.sample(float2(x))


@own.backward
def own_bwd(t, x, d_out):
    return d_out


@sa.kernel
def k(w: Tensor[float, 1], x: Each[float]) -> Sum[float]:
    a = sa.bwd_diff(plain)(w, x, 1.0)
    b = sa.fwd_diff(plain)(w, sa.diff_pair(x, 1.0))
    return clipped(w, x)
