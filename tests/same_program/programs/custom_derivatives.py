import slangad as sa
from slangad import Each, NoDiff, float3


@sa.struct
class Ray:
    origin: float3
    bounces: int
    length: float

    def reach(self, t: float) -> float:
        return self.length * t


@sa.differentiable
def product(x: float, y: NoDiff[float], n: int) -> float:
    return x * y * n


@product.backward
def product_bwd(x, y, n, d_out):
    """By hand."""
    # no gradient goes to y
    return y * n * d_out


@product.forward
def product_fwd(x, y, n):
    return x.p * y * n, x.d * y * n


@sa.differentiable
def swap(x: float, y: float3) -> tuple[float3, float]:
    return y, x


@swap.backward
def swap_bwd(x, y, d_out):
    return d_out[1], d_out[0]


@sa.differentiable
def along(r: Ray, t: float) -> float3:
    return r.origin + float3(t * r.length)


@along.backward
def along_bwd(r, t, d_out):
    s = sa.dot(d_out, float3(1.0))
    return Ray(origin=d_out, length=s * t), s * r.length


@sa.differentiable
def steep(x: float) -> float:
    return 1.0 / (1.0 + sa.exp(-x))


@steep.forward
def steep_fwd(x):
    y = steep(x.p)
    return sa.diff_pair(y, y * (1.0 - y) * x.d)


@sa.kernel
def trace(r: Each[Ray], t: Each[float]) -> Each[float]:
    a, b = swap(product(t, 2.0, 3), along(r, t))
    return steep(sa.dot(a, float3(b))) + r.reach(t)
