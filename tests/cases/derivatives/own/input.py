import slangad as sa
from slangad import Array, Each, NoDiff, float3


@sa.struct
class Material:
    albedo: float3
    roughness: float
    kind: int
    bias: NoDiff[float]

    @sa.differentiable
    def lum(self, k: float) -> float:
        return self.albedo.x * k

    @lum.backward
    def lum_bwd(self, k, d_out):
        return Material(albedo=float3(k * d_out, 0.0, 0.0), roughness=0.0), self.albedo.x * d_out


@sa.differentiable
def square(x: float) -> float:
    return x * x


@square.backward
def square_bwd(x, d_out):
    """By hand."""
    # Two x.
    return 2.0 * x * d_out


@sa.differentiable
def mixed(x: float, v: float3, n: int, k: NoDiff[float]) -> float3:
    return v * x * n * k


@mixed.backward
def mixed_bwd(x, v, n, k, d_out):
    if n == 0:
        return 0.0, float3(0.0)
    s = n * k
    return sa.dot(v, d_out) * s, d_out * (x * s)


@mixed.forward
def mixed_fwd(x, v, n, k):
    return v.p * x.p * n * k, (v.d * x.p + v.p * x.d) * n * k


@sa.differentiable
def shade(m: Material, x: float) -> float:
    return m.roughness * x


@shade.backward
def shade_bwd(m, x, d_out):
    g = sa.zeros(Material)
    g.roughness = x * d_out
    return g, m.roughness * d_out


@sa.differentiable
def pair(x: float, y: float) -> tuple[float, float]:
    return x * y, x + y


@pair.backward
def pair_bwd(x, y, d_out):
    return d_out[0] * y + d_out[1], d_out[0] * x + d_out[1]


@sa.differentiable
def array(a: Array[float, 3]) -> float:
    return a[0] * a[1]


@array.backward
def array_bwd(a, d_out):
    return Array[float, 3](a[1] * d_out, a[0] * d_out, 0.0)


@sa.differentiable
def only_forward(x: float) -> float:
    return x * x


@only_forward.forward
def only_forward_fwd(x):
    return sa.diff_pair(x.p * x.p, 2.0 * x.p * x.d)


@sa.kernel
def k(m: Each[Material], x: Each[float]) -> Each[float]:
    a, b = pair(x, square(x))
    return shade(m, x) + m.lum(x) + sa.dot(mixed(a, m.albedo, 2, b), float3(1.0)) + only_forward(x)
